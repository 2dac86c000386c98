//! Options of a segmentation.

/// How the first labels are found.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// By k-means of the first image. The means start from these values, or else divide the range evenly.
    KMeans(Option<Vec<f64>>),
    /// By thresholds of Otsu's method on the first image.
    Otsu,
    /// By the largest of prior probabilities, one map for each class. The priors also weight the posteriors.
    Priors {
        /// The maps of the prior probabilities.
        maps: Vec<Vec<f32>>,
        /// Weight of the priors, 0 to 1.
        weight: f64,
        /// Voxels whose largest prior is not larger have no first label.
        threshold: f32,
    },
}

/// How prior and likelihood are combined to a posterior.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formulation {
    /// prior^w · (likelihood · field)^(1 − w), with the weight w of the priors.
    Socrates,
    /// As by `Socrates`, but where a prior is 1, likelihood and field count as 1.
    Plato,
    /// likelihood · field / (1 + e^(−w·(prior − 1/K))) for K classes.
    Sigmoid,
}

/// Options of a segmentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Number of classes.
    pub classes: usize,
    /// How the first labels are found.
    pub start: Start,
    /// How prior and likelihood are combined.
    pub formulation: Formulation,
    /// Whether the shares of the classes weight the priors; else all classes have the same share.
    pub uses_shares: bool,
    /// Largest number of iterations.
    pub iterations: usize,
    /// The iterations end when the mean of the largest posteriors grows by less than this.
    pub threshold: f64,
    /// Weight of the Markov random field; 0 for none.
    pub field_weight: f64,
    /// Radius of the neighbourhood of the Markov random field along each axis, voxels.
    pub field_radius: [usize; 3],
    /// Largest number of passes of iterated conditional modes in each iteration; 0 for none.
    pub icm_passes: usize,
    /// Temperature at the start, by whose inverse posteriors are raised; the factor from iteration to iteration; and the
    /// least temperature.
    pub annealing: [f64; 3],
    /// Seed of the random numbers.
    pub seed: u32,
}
