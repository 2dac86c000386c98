//! Tests of the choice of devices, and of the messages without a GPU. The tests hide GPUs where these would change
//! the result.

use antsreg_tests::{Brain, Run, Workplace, grid};
use nalgebra::Matrix3;
use serde_json::Value;

/// Makes a folder with a pair of brains, `f.nii.gz` and `m.nii.gz`.
fn pair() -> Workplace {
    let place = Workplace::new();
    let onto = grid(8.0, [0.0; 3], Matrix3::identity());
    Brain::standard().write_image(&onto, &place.path("f.nii.gz"));
    Brain { warp_mm: 4.0, ..Brain::standard() }.write_image(&onto, &place.path("m.nii.gz"));
    place
}

/// Runs the program with all GPUs hidden from the driver.
fn without_gpu(place: &Workplace, line: &str) -> Run {
    let output = place.command(line.split_whitespace()).env("CUDA_VISIBLE_DEVICES", "-1").output();
    let output = output.expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn a_device_that_is_not_there_is_refused_with_the_reason_and_what_is_there() {
    let place = pair();
    let line = "register -f f.nii.gz -m m.nii.gz -o p";
    for rest in ["", " --dry-run", " --profile"] {
        let message = place.refuse(1, &format!("{line} --device cuda:9999{rest}"));
        // The reason in the message depends on the machine: no driver is installed, or the driver finds no device.
        let words =
            ["error: the device cuda:9999 cannot be used: there is no CUDA d", "; this machine has cpu", "--device"];
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    // A refused run must not leave files behind. `atlas` must not even create its output folder.
    place.refuse(1, "atlas f.nii.gz m.nii.gz -o atlas --device cuda:9999");
    let before = place.names();
    let run = without_gpu(&place, &format!("{line} --device cuda"));
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{}", run.stderr);
    assert!(run.stderr.starts_with("error: the device cuda:0 cannot be used: there is no CUDA d"), "{}", run.stderr);
    assert!(run.stderr.ends_with("; this machine has cpu; choose a device with --device\n"), "{}", run.stderr);
    assert_eq!(place.names(), before);
}

#[test]
fn auto_takes_the_cpu_where_there_is_no_gpu_and_says_why() {
    let place = pair();
    let line = "register -f f.nii.gz -m m.nii.gz -o p -t rigid";
    let run = without_gpu(&place, line);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("device: cpu, because there is no CUDA d"), "{}", run.stderr);
    let fallen_back = place.record("precord.json");
    assert_eq!(fallen_back["device"]["kind"], "cpu");
    assert_eq!(fallen_back["device_memory"], Value::Null);
    assert_eq!(fallen_back["profile"], Value::Null);
    let affine = place.read("p0GenericAffine.mat");
    // `--device cpu` must give the same bytes as `auto` without a GPU, and no message explains the choice.
    let run = place.succeed(&format!("{line} --device cpu"));
    assert!(!run.stderr.contains("device:"), "{}", run.stderr);
    assert!(affine == place.read("p0GenericAffine.mat"), "two runs on one device differ");

    let run = without_gpu(&place, &format!("{line} --profile"));
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{}", run.stderr);
    assert!(
        run.stderr.contains("error: --profile has no effect with the CPU, which --device auto takes because"),
        "{}",
        run.stderr
    );
}

#[test]
fn auto_takes_the_cpu_for_windows_that_no_gpu_has_and_says_why() {
    let place = pair();
    let of_a_pair = "register -f f.nii.gz -m m.nii.gz -o p --dry-run";
    let of_many = "batch m.nii.gz -f f.nii.gz -o out --dry-run";
    let told = "device: cpu, because with masks or the exact derivative of the cross-correlation, the tiled \
        kernels of GPUs support a window radius of up to 5 voxels; the requested radius is 6; with --cc-kernel textures \
        GPUs support every radius\n";
    for line in [of_a_pair, of_many] {
        let wide = format!("{line} --cc-radius 6 --cc-derivative exact");
        assert_eq!(place.succeed(&wide).stderr, told, "{wide}");
        // If the user requested the device `cpu`, no message explains why the CPU is used.
        assert_eq!(place.succeed(&format!("{wide} --device cpu")).stderr, "");
        // GPUs support cross-correlation with a radius of 5, and every radius by textures. So with these windows, the only reason for the CPU that the
        // message may give is the missing GPU.
        for fits in ["--cc-radius 5 --cc-derivative exact", "--cc-radius 6 --cc-kernel textures"] {
            let run = without_gpu(&place, &format!("{line} {fits}"));
            assert!(run.stderr.contains("device: cpu, because there is no CUDA d"), "{}", run.stderr);
        }
    }
    let message = place.refuse(2, &format!("{of_a_pair} --cc-radius 6 --cc-derivative exact --profile"));
    assert!(message.contains("--profile has no effect with the CPU") && message.contains("is 6"), "{message}");
}

#[test]
fn info_says_why_there_is_no_gpu() {
    let run = without_gpu(&Workplace::new(), "info");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for words in ["no GPU: there is no CUDA d", "--device auto takes cpu\n"] {
        assert!(run.stdout.contains(words), "`{words}` is missing in: {}", run.stdout);
    }
}
