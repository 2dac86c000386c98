//! Points, surfaces and tracts through `apply`, as a user runs it.

use antsreg_tests::Workplace;

/// A shift by 10 mm to the left and 5 mm to the back of fixed points: ITK's transform, LPS mm.
const SHIFT: &str = "#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n\
                     Parameters: 1 0 0 0 1 0 0 0 1 10 5 0\nFixedParameters: 0 0 0\n";

const SURFACE: &str = "# vtk DataFile Version 4.2\nSPACE=RAS\nASCII\nDATASET POLYDATA\nPOINTS 1 float\n1 2 3\n";

fn text(place: &Workplace, name: &str) -> String {
    String::from_utf8(place.read(name)).expect("text")
}

#[test]
fn the_input_may_be_points_of_any_format() {
    let place = Workplace::new();
    place.file("t.txt", SHIFT.as_bytes());
    place.file("p.csv", b"x,y,z\n1,2,3\n");
    for option in ["-i", "--points"] {
        let run = place.succeed(&format!("apply {option} p.csv -o q.csv -t t.txt"));
        assert_eq!(text(&place, "q.csv"), "x,y,z\n11,7,3\n");
        assert!(run.stderr.contains("1 points, LPS, the default"), "{}", run.stderr);
    }
    place.succeed("apply -i p.csv -o q.csv -t t.txt --coordinates ras");
    assert_eq!(text(&place, "q.csv"), "x,y,z\n-9,-3,3\n");
    place.file("s.vtk", SURFACE.as_bytes());
    place.succeed("apply -i s.vtk -o q.vtk -t t.txt");
    assert_eq!(text(&place, "q.vtk"), SURFACE.replace("1 2 3", "-9 -3 3"));
    place.succeed("apply -i s.vtk -o back.vtk -t [t.txt,1]");
    assert_eq!(text(&place, "back.vtk"), SURFACE.replace("1 2 3", "11 7 3"));
}

#[test]
fn the_names_of_ants_move_surfaces_and_tracts() {
    let place = Workplace::new();
    place.file("t.txt", SHIFT.as_bytes());
    let surface = "<GIFTI><DataArray Intent=\"NIFTI_INTENT_POINTSET\" DataType=\"NIFTI_TYPE_FLOAT32\" \
                   Dimensionality=\"2\" Dim0=\"1\" Dim1=\"3\" Encoding=\"ASCII\"><Data>1 2 3\n</Data></DataArray></GIFTI>";
    place.file("s.gii", surface.as_bytes());
    place.succeed("as antsApplyTransformsToGifti -i s.gii -o q.gii -t t.txt");
    assert_eq!(text(&place, "q.gii"), surface.replace("1 2 3", "-9 -3 3"));
    place.succeed("as antsApplyTransformsToGifti -i q.gii -o q.gii -t [t.txt,1] -p 1");
    assert_eq!(text(&place, "q.gii"), surface);
    place.file("t.trx", include_bytes!("../../crates/fuzz/seeds/packed.trx"));
    let run = place.succeed("as antsApplyTransformsToTRX -i t.trx -o q.trx -t t.txt");
    assert_eq!(place.names(), ["q.gii", "q.trx", "s.gii", "t.trx", "t.txt"], "{}", run.stderr);
}

#[test]
fn explain_says_which_way_points_go() {
    let place = Workplace::new();
    place.file("t.txt", SHIFT.as_bytes());
    place.file("s.vtk", SURFACE.as_bytes());
    let told = place.succeed("apply -i s.vtk -t t.txt --explain").stdout;
    assert!(told.contains("1. t.txt: output (reference) space → input space"), "{told}");
    assert!(told.contains("s.vtk is geometry of VTK: its points go as the first list says"), "{told}");
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_nothing() {
    let place = Workplace::new();
    place.file("t.txt", SHIFT.as_bytes());
    place.file("s.vtk", SURFACE.as_bytes());
    place.file("cut.vtk", SURFACE.replace("1 2 3", "1 2").as_bytes());
    place.file("other.vtk", SURFACE.replace("SPACE", "space").as_bytes());
    for (code, line, words) in [
        (1, "apply -i s.vtk -o q.ply -t t.txt", "q.ply: unknown file extension, expected .vtk"),
        (1, "apply -i cut.vtk -o q.vtk -t t.txt", "cut.vtk: a coordinate: expected a finite number"),
        (1, "apply -i other.vtk -o q.vtk -t t.txt", "other.vtk: the file does not say whether"),
        (2, "apply -i s.vtk -r s.vtk -o q.vtk -t t.txt", "--reference has no effect"),
        (2, "apply -i s.vtk -o q.vtk -t t.txt -n sinc", "--interpolation has no effect"),
        (2, "apply -i s.vtk -o q.vtk -t t.txt --report", "--report has no effect"),
        (2, "apply -i s.vtk -o s.vtk -t t.txt", "both an input and an output"),
    ] {
        let message = place.refuse(code, line);
        assert!(message.contains(words), "{line}: {message}");
    }
    assert_eq!(place.names(), ["cut.vtk", "other.vtk", "s.vtk", "t.txt"]);
}
