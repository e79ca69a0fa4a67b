// The answer for one row of a CSV file, in Rust: prints the label or prediction, and the scores.
//
//     inc=$(python -c "import rffkern; print(rffkern.get_include())")
//     cc -O2 -c -I$inc -o rffscore.o $inc/rffscore.c && ar rcs librffscore.a rffscore.o
//     rustc -O -L. -lstatic=rffscore -lm scorer.rs && ./scorer MODEL 'city,mass' 'Bern,"1,250 kg"'
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr::{null, null_mut};

#[repr(C)]
#[derive(Clone)]
struct Cell {
    kind: c_int,
    number: f64,
    text: *const c_char,
    length: usize,
}

#[repr(C)]
struct Label {
    kind: c_int,
    integer: i64,
    whole: u64,
    real: f64,
    text: *const c_char,
    length: usize,
}

const CELL_TEXT: c_int = 2;
const LABEL_TEXT: c_int = 5;

extern "C" {
    fn rff_load(path: *const c_char, max_bytes: usize, model: *mut *mut c_void, why: *mut *const c_char) -> c_int;
    fn rff_free(model: *mut c_void);
    fn rff_describe(model: *const c_void, info: *mut Info, size: usize) -> c_int;
    fn rff_scratch_size(model: *const c_void, n_rows: usize) -> usize;
    fn rff_error_text(error: c_int) -> *const c_char;
    fn rff_find_column(model: *const c_void, name: *const c_char, length: usize) -> usize;
    fn rff_get_label(model: *const c_void, index: usize, label: *mut Label) -> c_int;
    fn rff_score_cells(model: *const c_void, cells: *const Cell, n_rows: usize, scores: *mut f64, scratch: *mut c_void,
                       scratch_size: usize, row: *mut usize, column: *mut usize) -> c_int;
    fn rff_predict_cells(model: *const c_void, cells: *const Cell, n_rows: usize, answers: *mut f64,
                         scratch: *mut c_void, scratch_size: usize, row: *mut usize, column: *mut usize) -> c_int;
}

// The first members of rff_info.
#[repr(C)]
#[derive(Default)]
struct Info {
    of_kinds: [i32; 6],
    n_features: usize,
    n_mapped: usize,
    n_terms: usize,
    n_outputs: usize,
    n_classes: usize,
    n_predictions: usize,
}

fn check(error: c_int) {
    if error != 0 {
        panic!("{}", unsafe { CStr::from_ptr(rff_error_text(error)) }.to_string_lossy());
    }
}

// Fields of a line, which may be in quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut found, mut quoted, mut characters) = (vec![String::new()], false, line.chars().peekable());
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => found.last_mut().unwrap().push(characters.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => found.push(String::new()),
            _ => found.last_mut().unwrap().push(c),
        }
    }
    found
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let path = CString::new(arguments[1].as_str()).unwrap();
    let (names, values) = (fields(&arguments[2]), fields(&arguments[3]));
    let (mut model, mut info) = (null_mut(), Info::default());
    unsafe {
        check(rff_load(path.as_ptr(), 0, &mut model, null_mut()));
        check(rff_describe(model, &mut info, std::mem::size_of::<Info>()));
        let mut cells = vec![Cell { kind: 0, number: 0.0, text: null(), length: 0 }; info.n_features]; // all missing
        for (name, value) in names.iter().zip(&values) {
            let column = rff_find_column(model, name.as_ptr().cast(), name.len());
            if column < info.n_features {
                cells[column] = Cell { kind: CELL_TEXT, number: 0.0, text: value.as_ptr().cast(), length: value.len() };
            }
        }
        let (mut scores, mut answers) = (vec![0f64; info.n_outputs], vec![0f64; info.n_predictions]);
        let mut scratch = vec![0u8; rff_scratch_size(model, 1)];
        let (at, size) = (scratch.as_mut_ptr().cast::<c_void>(), scratch.len());
        check(rff_score_cells(model, cells.as_ptr(), 1, scores.as_mut_ptr(), at, size, null_mut(), null_mut()));
        check(rff_predict_cells(model, cells.as_ptr(), 1, answers.as_mut_ptr(), at, size, null_mut(), null_mut()));
        let mut label = Label { kind: 0, integer: 0, whole: 0, real: 0.0, text: null(), length: 0 };
        if rff_get_label(model, answers[0] as usize, &mut label) == 0 && label.kind == LABEL_TEXT {
            println!("{}", CStr::from_ptr(label.text).to_string_lossy());
        } else {
            println!("{:.17e}", answers[0]);
        }
        for score in scores {
            println!("{score:.17e}");
        }
        rff_free(model);
    }
}
