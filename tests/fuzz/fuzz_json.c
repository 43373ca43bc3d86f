/* Any text that reads as JSON gives documents, and these give objects, or a sentence. */
#include "fuzz/documents.h"
#include "fuzz/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_documents(data, size, false, fuzz_objects);
    return 0;
}
