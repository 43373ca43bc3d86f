/* Any text that reads as YAML gives documents or a sentence. */
#include "fuzz/documents.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_documents(data, size, true, NULL);
    return 0;
}
