/* symbols.c: see symbols.h. The program's file is read once, when the first address is looked up, and stays mapped. */
#include "pprof/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

struct function {
    uint64_t from, to;
    struct str name;
};

static struct {
    pthread_once_t once;
    uint64_t bias; /* what was added to the addresses of the file */
    VEC(struct function) functions;
} program = { .once = PTHREAD_ONCE_INIT };

/* A file as it was mapped. */
struct image {
    const char *bytes;
    size_t len;
};

/* `count` things of `size` bytes at an offset, or NULL. */
static const void *part(struct image image, uint64_t offset, uint64_t count, uint64_t size)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || offset > image.len || bytes > image.len - offset ||
        offset % sizeof(uint64_t))
        return NULL;
    return image.bytes + offset;
}

static void add_functions(struct image image, const ElfW(Shdr) * table, const ElfW(Shdr) * names)
{
    uint64_t count = table->sh_size / sizeof(ElfW(Sym));
    const ElfW(Sym) *symbols = part(image, table->sh_offset, count, sizeof(*symbols));
    if (!symbols || names->sh_offset > image.len || names->sh_size > image.len - names->sh_offset)
        return;
    for (uint64_t i = 0; i < count; i++) {
        const ElfW(Sym) *symbol = &symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_size ||
            symbol->st_name >= names->sh_size)
            continue;
        const char *name = image.bytes + names->sh_offset + symbol->st_name;
        size_t len = strnlen(name, names->sh_size - symbol->st_name);
        *vec_push(&program.functions) = (struct function){ symbol->st_value,
                                                           symbol->st_value + symbol->st_size,
                                                           { name, (uint32_t)MIN(len, UINT32_MAX) } };
    }
}

static int by_address(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

static void read_image(struct image image)
{
    const ElfW(Ehdr) *header = part(image, 0, 1, sizeof(*header));
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_shentsize != sizeof(ElfW(Shdr)))
        return;
    const ElfW(Shdr) *sections = part(image, header->e_shoff, header->e_shnum, sizeof(*sections));
    for (uint32_t i = 0; sections && i < header->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < header->e_shnum)
            add_functions(image, &sections[i], &sections[sections[i].sh_link]);
    if (program.functions.len)
        qsort(program.functions.items, program.functions.len, sizeof(*program.functions.items), by_address);
}

/* The program is the first object that is told of. */
static int take_bias(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    *(uint64_t *)user = info->dlpi_addr;
    return 1;
}

static void read_program(void)
{
    struct stat stat;
    dl_iterate_phdr(take_bias, &program.bias);
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &stat) == 0 && stat.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED)
            read_image((struct image){ bytes, (size_t)stat.st_size });
    }
    close(fd);
}

static int is_in(const void *key, const void *item)
{
    const uint64_t *address = key;
    const struct function *function = item;
    return *address < function->from ? -1 : *address >= function->to;
}

struct str symbol_of(uint64_t address)
{
    pthread_once(&program.once, read_program);
    uint64_t in_file = address - program.bias;
    const struct function *function =
        program.functions.len
            ? bsearch(&in_file, program.functions.items, program.functions.len, sizeof(*function), is_in)
            : NULL;
    if (function)
        return function->name;
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (!dladdr1((const void *)(uintptr_t)address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
        !info.dli_sname || address - (uint64_t)(uintptr_t)info.dli_saddr >= symbol->st_size)
        return (struct str){ 0 };
    return str_from(info.dli_sname);
}
