/* replay.c: runs a fuzz target over every file of the given directories, without a fuzzer.
 *
 * An empty directory fails: a missing corpus must not look like a pass. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return -1;
    }
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    char block[65536];
    for (size_t got; (got = fread(block, 1, sizeof(block), file)) > 0;)
        strbuf_add(&text, block, got);
    fclose(file);
    /* An exact copy, so that a sanitizer detects a read past the end. */
    uint8_t *exact = xmalloc(text.len);
    if (text.len)
        memcpy(exact, text.text, text.len);
    printf("%s: %zu bytes\n", path, text.len);
    fflush(stdout);
    LLVMFuzzerTestOneInput(exact, text.len);
    free(exact);
    return 0;
}

static int replay_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        perror(folder);
        return -1;
    }
    int files = 0, failed = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        failed |= replay_file(path);
        files++;
    }
    closedir(dir);
    if (!files)
        fprintf(stderr, "%s: no seeds\n", folder);
    return failed || !files ? -1 : 0;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;
    for (int i = 1; i < argc; i++)
        failed |= replay_folder(argv[i]);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
