use antsreg_kernels::ops::{Fields, Intensity, Memory, Similarity};
use antsreg_kernels::{
    CcDerivative, CcKernels, CcParameters, Cpu, JointParameters, JointSampling, MetricOutput, MiParameters,
};

use super::scene;

/// Runs all operations that compute sums or divide a volume among threads, with the given number of threads. Returns
/// the bits of their results.
fn bits(threads: usize) -> Vec<u32> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let shape = scene::SHAPES[0];
        let [fixed, moving] = [30, 31].map(|seed| Cpu.upload(shape, &scene::image(shape, seed)).unwrap());
        let [mut a, mut b, mut c] = [0, 1, 2].map(|_| Cpu.field(shape).unwrap());
        let parameters = CcParameters {
            radius: 2,
            derivative: CcDerivative::Exact,
            noise_variance: 1e-4,
            kernels: CcKernels::Tiled,
        };
        let mut workspace = Cpu.cc_workspace(shape).unwrap();
        let (images, mut derivatives) = ([&fixed, &moving], [0, 1].map(|_| Cpu.image(shape).unwrap()));
        let out = MetricOutput::Updates { fields: [&mut a, &mut b], spacing: [1.0; 3] };
        let pending = Cpu.cc_gradient(images, [None; 2], &parameters, &mut workspace, out, None).unwrap();
        let scores = Cpu.cc_scores(pending).unwrap();
        let out = MetricOutput::Derivatives(derivatives.each_mut());
        Cpu.cc_gradient(images, [None; 2], &parameters, &mut workspace, out, None).unwrap();
        let mut d = Cpu.field(shape).unwrap();
        Cpu.smoothed_update(&fixed, &mut derivatives[0], [1.0; 3], 2.0, &mut d).unwrap();
        let update = Cpu.download_field(&d).unwrap();
        Cpu.smooth_both_fields([&mut a, &mut b], 3.0, [&mut c, &mut d]).unwrap();
        Cpu.advance_both([&mut c, &mut d], [&a, &b], 0.4).unwrap();
        let advanced = Cpu.download_field(&d).unwrap();
        let parameters = MiParameters { bins: 32, ranges: [(0.0, 1.0); 2] };
        let mut workspace = Cpu.mi_workspace(32).unwrap();
        let out = MetricOutput::Updates { fields: [&mut b, &mut d], spacing: [1.0; 3] };
        let information = Cpu.mi_gradient(images, [None; 2], &parameters, &mut workspace, out).unwrap();
        let magnitude = Cpu.magnitude(&d).unwrap();
        let smoothed = Cpu.smooth(&fixed, [1.0, 2.0, 0.5]).unwrap();
        let fields = [a, b, c, d].map(|field| Cpu.download_field(&field).unwrap());
        let all = fields.iter().chain([&advanced, &update]).flatten().flatten();
        let mut values: Vec<u32> = all.map(|value| value.to_bits()).collect();
        values.extend(Cpu.download(&smoothed).unwrap().iter().map(|value| value.to_bits()));
        let sums = [scores.energy, scores.agreement, information, magnitude].map(f64::to_bits);
        values.extend(sums.iter().flat_map(|bits| [*bits as u32, (bits >> 32) as u32]));
        let binned = Cpu.bin_fixed(&fixed, None, (0.0, 1.0), 12).unwrap();
        let maps = vec![scene::oblique_map(); 3];
        let parameters = JointParameters { sampling: JointSampling::Trilinear, bins: 14, low_high: (0.0, 1.0) };
        let joint = Cpu.joint_entropies(&binned, &moving, None, [1.0; 3], &parameters, &maps).unwrap();
        let moments = Cpu.moments(&fixed, &moving, [None; 2], [(0.0, 1.0); 2], [1.0; 3], &maps).unwrap();
        let sums = joint.iter().map(|found| found.joint).chain(moments.iter().map(|found| found.fixed_moving));
        values.extend(sums.flat_map(|sum| [sum.to_bits() as u32, (sum.to_bits() >> 32) as u32]));
        values
    })
}

#[test]
fn no_bit_depends_on_the_number_of_threads() {
    let one = bits(1);
    assert!(one.iter().any(|bits| *bits != 0));
    assert!(one == bits(2) && one == bits(3));
}
