// Scores of a row in Go, by cgo: prints them with 17 digits.
//
//	inc=$(python -c "import rffkern; print(rffkern.get_include())")
//	cc -O2 -c -I$inc -o rffscore.o $inc/rffscore.c && ar rcs librffscore.a rffscore.o
//	CGO_CFLAGS="-I$inc" CGO_LDFLAGS="-L. -lrffscore -lm" go run scorer.go MODEL 0.5 1 2
package main

// #include <stdlib.h>
// #include "rffkern.h"
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"unsafe"
)

func main() {
	var model *C.rff_model
	var why *C.char
	path := C.CString(os.Args[1])
	defer C.free(unsafe.Pointer(path))
	if C.rff_load(path, 0, &model, &why) != C.RFF_OK {
		fmt.Fprintln(os.Stderr, C.GoString(why))
		os.Exit(1)
	}
	defer C.rff_free(model)
	var info C.rff_info
	C.rff_describe(model, &info, C.size_t(unsafe.Sizeof(info)))
	row := make([]float64, info.n_features)
	for j := range row {
		row[j], _ = strconv.ParseFloat(os.Args[2+j], 64)
	}
	scores := make([]float64, info.n_outputs)
	size := C.rff_scratch_size(model, 1)
	scratch := make([]byte, size)
	failed := C.rff_score(model, C.RFF_FLOAT64, unsafe.Pointer(&row[0]), 1, (*C.double)(&scores[0]),
		unsafe.Pointer(&scratch[0]), size)
	if failed != C.RFF_OK {
		fmt.Fprintln(os.Stderr, C.GoString(C.rff_error_text(failed)))
		os.Exit(1)
	}
	for _, score := range scores {
		fmt.Println(strconv.FormatFloat(score, 'g', 17, 64))
	}
}
