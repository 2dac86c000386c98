//! The histogram sharpening of Sled et al. 1998. A bias field blurs the histogram of the intensities; the sharpening
//! estimates the intensities without the field.

use std::f64::consts::{LN_2, PI};
use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use super::Options;

/// Deconvolves a Gaussian from histograms of log intensities.
pub struct Sharpener {
    forward: Arc<dyn Fft<f64>>,
    backward: Arc<dyn Fft<f64>>,
    bins: usize,
    fwhm: f64,
    noise: f64,
}

impl Sharpener {
    /// Prepares the sharpening of the intensity histogram for N4, with the number of bins, the width of the Gaussian
    /// and the noise term from the options.
    pub fn new(options: &Options) -> Sharpener {
        let Options { bins, fwhm, noise, .. } = *options;
        // The length of the Fourier transforms is at least twice the number of bins, so that values blurred beyond one
        // end do not reappear at the other end.
        let length = 2 * bins.next_power_of_two();
        let mut planner = FftPlanner::new();
        Sharpener {
            forward: planner.plan_fft_forward(length),
            backward: planner.plan_fft_inverse(length),
            bins,
            fwhm,
            noise,
        }
    }

    /// Returns E[u | v] for each bin: the expected logarithm u of an intensity before the blur, given the blurred
    /// logarithm v = `low` + bin · `width`. `counts` are the counts of the bins, in any unit.
    pub fn expectation(&self, counts: &[f64], low: f64, width: f64) -> Vec<f64> {
        let length = self.forward.len();
        let margin = (length - self.bins) / 2;
        let blur = self.blur(width);

        let mut sharp = vec![Complex::default(); length];
        sharp[margin..margin + self.bins].iter_mut().zip(counts).for_each(|(place, count)| place.re = *count);
        self.forward.process(&mut sharp);
        // The Gaussian that blurs the histogram is a real and even function, so its Fourier transform is real.
        sharp.iter_mut().zip(&blur).for_each(|(value, blur)| *value *= blur / (blur * blur + self.noise));
        self.backward.process(&mut sharp);
        let sharp: Vec<f64> = sharp.into_iter().map(|value| value.re.max(0.0)).collect();

        let place = |n: usize| low + (n as f64 - margin as f64) * width;
        let moments: Vec<f64> = sharp.iter().enumerate().map(|(n, share)| place(n) * share).collect();
        let (numerators, denominators) = (self.blurred(&moments, &blur), self.blurred(&sharp, &blur));
        let expected = numerators.into_iter().zip(denominators).map(|(n, d)| if d == 0.0 { 0.0 } else { n / d });
        expected.skip(margin).take(self.bins).collect()
    }

    /// Returns the Fourier transform of the Gaussian, sampled at bins of this width. The width is in units of the
    /// logarithm.
    fn blur(&self, width: f64) -> Vec<f64> {
        let length = self.forward.len();
        let fwhm = self.fwhm / width;
        let height = 2.0 * (LN_2 / PI).sqrt() / fwhm;
        let falloff = 4.0 * LN_2 / (fwhm * fwhm);
        let mut gaussian: Vec<Complex<f64>> = (0..length)
            .map(|n| {
                let distance = n.min(length - n) as f64;
                Complex::new(height * (-distance * distance * falloff).exp(), 0.0)
            })
            .collect();
        self.forward.process(&mut gaussian);
        gaussian.into_iter().map(|value| value.re).collect()
    }

    fn blurred(&self, values: &[f64], blur: &[f64]) -> Vec<f64> {
        let mut places: Vec<Complex<f64>> = values.iter().map(|value| Complex::new(*value, 0.0)).collect();
        self.forward.process(&mut places);
        places.iter_mut().zip(blur).for_each(|(value, blur)| *value *= blur);
        self.backward.process(&mut places);
        places.into_iter().map(|value| value.re).collect()
    }
}
