//! Points: tables, fiducials, markups and lists.

use super::*;

#[test]
fn tables_are_lps_unless_the_caller_says_otherwise() {
    let table = "name,x,y,z\na,-1,-2,4\n";
    assert_eq!(text("p.csv", table, None), "name,x,y,z\na,-3,-4,-1\n");
    assert_eq!(text("p.csv", table, Some(World::Ras)), "name,x,y,z\na,-1,0,-1\n");
    let done = carried("p.csv", table.as_bytes(), None).unwrap().1;
    assert_eq!(done, Moved { points: 1, coordinates: "LPS, the default" });
}

#[test]
fn fiducials_of_slicer_name_their_world_and_keep_their_cells() {
    let file = |world: &str| {
        format!(
            "# Markups fiducial file version = 4.11\n# CoordinateSystem = {world}\n\
             # columns = id,x,y,z,ow,label\n1,1,2,4,0,\"a, b\"\n# between\n2,-1,0,0,1\r\n"
        )
    };
    let expected = |points: [&str; 2], world: &str| {
        file(world)
            .replace("1,1,2,4,", &format!("1,{},", points[0]))
            .replace("2,-1,0,0,", &format!("2,{},", points[1]))
    };
    for (world, points) in [
        ("RAS", ["3,4,-1", "-1,2,-3"]),
        ("0", ["3,4,-1", "-1,2,-3"]),
        ("LPS", ["1,0,-1", "-3,-2,-3"]),
        ("1", ["1,0,-1", "-3,-2,-3"]),
    ] {
        assert_eq!(text("f.fcsv", &file(world), None), expected(points, world), "{world}");
    }
    assert!(message("f.fcsv", file("2").as_bytes()).contains("expected RAS or LPS, found \"2\""));
    let without = file("RAS").replace("CoordinateSystem", "Coordinates");
    assert!(matches!(carried("f.fcsv", without.as_bytes(), None).unwrap_err().kind, ErrorKind::WorldUnknown));
    assert!(text("f.fcsv", &without, Some(World::Ras)).contains("1,3,4,-1,"));
    assert!(message("f.fcsv", b"# CoordinateSystem = RAS\n1,2,nan,3\n").contains("a finite number"));
}

#[test]
fn markups_of_slicer_keep_what_is_not_a_position() {
    let file = r#"{"@schema": "s", "markups": [{"type": "Curve", "coordinateSystem": "RAS", "controlPoints": [
        {"id": "1", "label": "a", "position": [1, 2, 4], "orientation": [1.0, 0.0]},
        {"id": "2", "position": null}]}, {"type": "Fiducial", "controlPoints": [{"position": [-1.0, -2.0, 4.0]}]}]}"#;
    let written: serde_json::Value = serde_json::from_str(&text("m.mrk.json", file, None)).unwrap();
    let mut expected: serde_json::Value = serde_json::from_str(file).unwrap();
    expected["markups"][0]["controlPoints"][0]["position"] = [3.0, 4.0, -1.0].into();
    // LPS is the default of the schema.
    expected["markups"][1]["controlPoints"][0]["position"] = [-3.0, -4.0, -1.0].into();
    assert_eq!(written, expected);
    assert!(message("m.mrk.json", file.replace("Curve", "ROI").as_bytes()).contains("the type of a markup"));
    assert!(message("m.mrk.json", file.replace("RAS", "IJK").as_bytes()).contains("RAS or LPS"));
}

#[test]
fn lists_of_points_have_three_forms() {
    for (given, expected) in [
        ("[[-1, -2, 4]]", "[[-3.0, -4.0, -1.0]]"),
        (r#"{"points": [[-1, -2, 4]], "k": 7}"#, r#"{"points": [[-3.0, -4.0, -1.0]], "k": 7}"#),
        (r#"[{"x": -1, "y": -2, "z": 4, "n": "a"}]"#, r#"[{"x": -3.0, "y": -4.0, "z": -1.0, "n": "a"}]"#),
    ] {
        let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(parsed(&text("l.json", given, None)), parsed(expected));
    }
    for (given, expected) in
        [("{}", "a list of points"), ("[[1, 2]]", "three numbers"), ("[[1, 2, \"a\"]]", "a number"), ("[", "JSON")]
    {
        assert!(message("l.json", given.as_bytes()).contains(expected), "{given}");
    }
}
