// The answer for one row of a CSV file, in Go, by cgo: prints the label or prediction, and the scores.
//
//	inc=$(python -c "import rffkern; print(rffkern.get_include())")
//	cc -O2 -c -I$inc -o rffscore.o $inc/rffscore.c && ar rcs librffscore.a rffscore.o
//	CGO_CFLAGS="-I$inc" CGO_LDFLAGS="-L. -lrffscore -lm" go run scorer.go MODEL 'city,mass' 'Bern,"1,250 kg"'
package main

// #include <stdlib.h>
// #include "rffkern.h"
import "C"

import (
	"encoding/csv"
	"fmt"
	"os"
	"strings"
	"unsafe"
)

func check(failed C.rff_error, why *C.char) {
	if failed != C.RFF_OK {
		fmt.Fprintln(os.Stderr, C.GoString(C.rff_error_text(failed)), C.GoString(why))
		os.Exit(1)
	}
}

func fields(line string) []string {
	found, err := csv.NewReader(strings.NewReader(line)).Read()
	if err != nil {
		panic(err)
	}
	return found
}

func main() {
	var model *C.rff_model
	var why *C.char
	path := C.CString(os.Args[1])
	defer C.free(unsafe.Pointer(path))
	check(C.rff_load(path, 0, &model, &why), why)
	defer C.rff_free(model)
	var info C.rff_info
	C.rff_describe(model, &info, C.size_t(unsafe.Sizeof(info)))
	cells := make([]C.rff_cell, info.n_features) // all missing
	values := fields(os.Args[3])
	for k, name := range fields(os.Args[2]) {
		text := C.CString(name)
		j := C.rff_find_column(model, text, C.size_t(len(name)))
		C.free(unsafe.Pointer(text))
		if j < info.n_features {
			cells[j].kind, cells[j].text, cells[j].length = C.RFF_CELL_TEXT, C.CString(values[k]), C.size_t(len(values[k]))
			defer C.free(unsafe.Pointer(cells[j].text))
		}
	}
	scores, answers := make([]C.double, info.n_outputs), make([]C.double, info.n_predictions)
	size := C.rff_scratch_size(model, 1)
	scratch := C.malloc(size)
	defer C.free(scratch)
	check(C.rff_score_cells(model, &cells[0], 1, &scores[0], scratch, size, nil, nil), nil)
	check(C.rff_predict_cells(model, &cells[0], 1, &answers[0], scratch, size, nil, nil), nil)
	var label C.rff_label
	if C.rff_get_label(model, C.size_t(answers[0]), &label) == C.RFF_OK && label.kind == C.RFF_TEXT {
		fmt.Println(C.GoString(label.text))
	} else {
		fmt.Printf("%.17g\n", float64(answers[0]))
	}
	for _, score := range scores {
		fmt.Printf("%.17g\n", float64(score))
	}
}
