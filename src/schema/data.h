/* data.h: the files of src/schema/data/ as one text. tools/embed-text writes data.c when the program is built. */
#ifndef SCHEMA_DATA_H
#define SCHEMA_DATA_H

extern const char schema_data[];

#endif
