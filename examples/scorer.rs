// Scores of a row in Rust: prints them with 17 digits.
//
//     inc=$(python -c "import rffkern; print(rffkern.get_include())")
//     cc -O2 -c -I$inc -o rffscore.o $inc/rffscore.c && ar rcs librffscore.a rffscore.o
//     rustc -O -L. -lstatic=rffscore -lm scorer.rs && ./scorer MODEL 2 0.5 1 2        (2 scores of 3 numbers)
use std::ffi::{c_char, c_int, c_void, CStr, CString};

extern "C" {
    fn rff_load(path: *const c_char, max_bytes: usize, model: *mut *mut c_void, why: *mut *const c_char) -> c_int;
    fn rff_free(model: *mut c_void);
    fn rff_scratch_size(model: *const c_void, n_rows: usize) -> usize;
    fn rff_error_text(error: c_int) -> *const c_char;
    fn rff_score(model: *const c_void, kind: c_int, rows: *const c_void, n_rows: usize, scores: *mut f64,
                 scratch: *mut c_void, scratch_size: usize) -> c_int;
}

const FLOAT64: c_int = 8;

fn text(message: *const c_char) -> String {
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let path = CString::new(arguments[1].as_str()).unwrap();
    let row: Vec<f64> = arguments[3..].iter().map(|number| number.parse().unwrap()).collect();
    let mut scores = vec![0f64; arguments[2].parse().unwrap()];
    let (mut model, mut why) = (std::ptr::null_mut(), std::ptr::null());
    unsafe {
        if rff_load(path.as_ptr(), 0, &mut model, &mut why) != 0 {
            panic!("{}", text(why));
        }
        let mut scratch = vec![0u8; rff_scratch_size(model, 1)];
        let error = rff_score(model, FLOAT64, row.as_ptr().cast(), 1, scores.as_mut_ptr(),
                              scratch.as_mut_ptr().cast(), scratch.len());
        if error != 0 {
            panic!("{}", text(rff_error_text(error)));
        }
        rff_free(model);
    }
    for score in scores {
        println!("{score:.17e}");
    }
}
