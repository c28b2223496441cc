/* Types of UPC 1.3, section 7.3. */
#ifndef ISTHMUS_UPC_TYPES_H
#define ISTHMUS_UPC_TYPES_H

typedef enum upc_type_t {
  UPC_CHAR = 1, UPC_UCHAR, UPC_SHORT, UPC_USHORT, UPC_INT, UPC_UINT, UPC_LONG, UPC_ULONG, UPC_LLONG, UPC_ULLONG,
  UPC_INT8, UPC_UINT8, UPC_INT16, UPC_UINT16, UPC_INT32, UPC_UINT32, UPC_INT64, UPC_UINT64, UPC_FLOAT, UPC_DOUBLE,
  UPC_LDOUBLE, UPC_PTS
} upc_type_t;

typedef unsigned long upc_op_t;
#define UPC_ADD 1UL
#define UPC_MULT 2UL
#define UPC_AND 4UL
#define UPC_OR 8UL
#define UPC_XOR 16UL
#define UPC_LOGAND 32UL
#define UPC_LOGOR 64UL
#define UPC_MIN 128UL
#define UPC_MAX 256UL

typedef int upc_flag_t;
#define UPC_IN_ALLSYNC 0
#define UPC_IN_MYSYNC 1
#define UPC_IN_NOSYNC 2
#define UPC_OUT_ALLSYNC 0
#define UPC_OUT_MYSYNC 4
#define UPC_OUT_NOSYNC 8
#endif
