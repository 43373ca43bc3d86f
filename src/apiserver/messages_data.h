/* messages_data.h: src/apiserver/data/messages.txt as a text. tools/embed-text writes the C file. */
#ifndef APISERVER_MESSAGES_DATA_H
#define APISERVER_MESSAGES_DATA_H

extern const char messages_data[];

#endif
