//! Valid inputs for each reader of files and command lines. Fuzzing damages these inputs (seeds) at random.

use std::path::Path;

use antsreg_core::io::points::PointTable;
use antsreg_core::io::{Error, fsl, itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, Grid, LabelVolume, Volume};
use nalgebra::Point3;

/// The small voxel grid of the images and warps that are made as valid inputs for fuzzing.
pub fn grid() -> Grid {
    Grid::axis_aligned([3, 4, 5], [1.0, 1.5, 2.0])
}

/// Valid inputs (seeds), which fuzzing damages, for the readers of images and label maps.
pub fn images(folder: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let grid = grid();
    let slice = Grid::axis_aligned([4, 5, 1], [1.0; 3]);
    let of = |grid: &Grid| Volume { voxels: (0..grid.len()).map(|at| at as f32).collect(), grid: grid.clone() };
    let labels = LabelVolume { voxels: (0..grid.len() as i32).collect(), grid: grid.clone() };
    let [volume, flat] = [&grid, &slice].map(of);
    Ok(vec![
        written(folder, "v.nii", |path| nifti::write_volume(path, &volume))?,
        written(folder, "s.nii", |path| nifti::write_volume(path, &flat))?,
        written(folder, "v.nii.gz", |path| nifti::write_volume(path, &volume))?,
        written(folder, "l.nii", |path| nifti::write_labels(path, &labels))?,
    ])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of displacement fields.
pub fn warps(folder: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let field = DisplacementField { vectors: vec![[0.5, -0.25, 0.125]; grid().len()], grid: grid() };
    Ok(vec![
        written(folder, "w.nii", |path| itk::write_warp(path, &field))?,
        written(folder, "w.nii.gz", |path| itk::write_warp(path, &field))?,
        include_bytes!("../../core/tests/fixtures/ants_warp.nii.gz").to_vec(),
    ])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of ITK's affines in MATLAB files.
pub fn matlab(folder: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let centre = Point3::new(1.0, 2.0, 3.0);
    Ok(vec![
        written(folder, "a.mat", |path| itk::write_affine(path, &AffineTransform::identity(), centre))?,
        include_bytes!("../../core/tests/fixtures/ants_affine.mat").to_vec(),
        include_bytes!("../../core/tests/fixtures/ants_affine_2d.mat").to_vec(),
        include_bytes!("../../core/tests/fixtures/ants_euler.mat").to_vec(),
        include_bytes!("../../core/tests/fixtures/ants_similarity.mat").to_vec(),
    ])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of ITK's transforms in text files.
pub fn text(folder: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let centre = Point3::new(1.0, 2.0, 3.0);
    Ok(vec![
        written(folder, "a.txt", |path| itk::write_affine(path, &AffineTransform::identity(), centre))?,
        include_bytes!("../../core/tests/fixtures/ants_affine.txt").to_vec(),
    ])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of ITK's composite transforms.
pub fn composites(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    Ok(vec![
        include_bytes!("../../core/tests/fixtures/ants_composite.h5").to_vec(),
        include_bytes!("../../core/tests/fixtures/ants_composite_float.h5").to_vec(),
    ])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of FSL's matrices.
pub fn matrices(folder: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let (grid, identity) = (grid(), AffineTransform::identity());
    Ok(vec![written(folder, "f.mat", |path| fsl::write_matrix(path, &identity, &grid, &grid))?])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of tables of points.
pub fn points(folder: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let table = PointTable::new(vec![Point3::new(1.0, -2.0, 3.5); 3]);
    Ok(vec![
        written(folder, "p.csv", |path| table.write(path))?,
        b"x,y,z,t,label,comment\n-1.5,2,3e1,0,1,\"a, \"\"b\"\"\"\n0,0,0,0,2,\n".to_vec(),
    ])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of Slicer's fiducials.
pub fn fiducials(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let head = "# Markups fiducial file version = 4.11\n# CoordinateSystem = LPS\n# columns = id,x,y,z,label\n";
    Ok(vec![format!("{head}1,-1.5,2,3e1,\"a, b\"\r\n2,0,0,0,\n").into_bytes(), b"1,2,3,4\n".to_vec()])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of Slicer's markups.
pub fn markups(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let points = r#"[{"id": "1", "position": [1, -2.5, 3e1]}, {"position": null}]"#;
    let markup = format!(r#"{{"type": "Line", "coordinateSystem": "RAS", "controlPoints": {points}}}"#);
    Ok(vec![format!(r#"{{"markups": [{markup}]}}"#).into_bytes()])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of points in JSON.
pub fn lists(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    Ok(vec![
        b"[[1, 2, 3], [-1.5, 2e1, 0]]".to_vec(),
        br#"{"points": [{"x": 1, "y": 2, "z": 3, "name": "a"}]}"#.to_vec(),
    ])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of MRtrix's tracts.
pub fn tck(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let (gap, end) = ([f32::NAN; 3], [f32::INFINITY; 3]);
    let values = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], gap, [7.0, 8.0, 9.0], gap, end];
    let file = |kind: &str, bytes: Vec<u8>| {
        let mut file = format!("mrtrix tracks\ncount: 2\ndatatype: {kind}\nfile: . 64\nEND\n").into_bytes();
        file.resize(64, 0);
        [file, bytes].concat()
    };
    let singles = values.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let doubles = values.iter().flatten().flat_map(|value| f64::from(*value).to_be_bytes()).collect();
    Ok(vec![file("Float32LE", singles), file("Float64BE", doubles)])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of TrackVis' tracts.
pub fn trk(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let mut file = vec![0; 1000];
    file[..5].copy_from_slice(b"TRACK");
    for (at, value) in [(6, 10_i16), (8, 20), (10, 30), (36, 1), (238, 1), (988, 2), (992, 2), (996, 1000)] {
        file[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
    for (at, value) in
        [(12, 2_f32), (16, 1.0), (20, 4.0), (440, -2.0), (452, 7.0), (460, 1.0), (480, 4.0), (500, 1.0)]
    {
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    file[948..951].copy_from_slice(b"LAS");
    for points in [2_i32, 1] {
        file.extend(points.to_le_bytes());
        file.extend((0..4 * points + 1).flat_map(|value| (value as f32).to_le_bytes()));
    }
    Ok(vec![file])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of FreeSurfer's surfaces.
pub fn freesurfer(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let mut file = b"\xff\xff\xfecreated by nobody\n\n".to_vec();
    file.extend([3_i32, 1].into_iter().flat_map(i32::to_be_bytes));
    file.extend((0..9).flat_map(|value| (value as f32).to_be_bytes()));
    file.extend([0_i32, 1, 2, 2, 0, 20].into_iter().flat_map(i32::to_be_bytes));
    file.extend(b"valid = 1  # volume info valid\nfilename = a.mgz\nvolume = 256 256 256\nvoxelsize = 1 1 1\n");
    file.extend(b"xras   = -1 0 0\nyras   = 0 0 -1\nzras   = 0 1 0\ncras   = 5.5 -20.25 11\n");
    Ok(vec![file])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of surfaces in GIfTI.
pub fn gifti(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let file = |encoding: &str, data: &str| {
        let volume = "<MetaData><MD><Name>VolGeomC_R</Name><Value><![CDATA[1.5]]></Value></MD></MetaData>";
        let matrix = "<MatrixData>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</MatrixData>";
        let space =
            "<DataSpace>NIFTI_XFORM_UNKNOWN</DataSpace><TransformedSpace>NIFTI_XFORM_SCANNER_ANAT</TransformedSpace>";
        format!(
            "<?xml version=\"1.0\"?><GIFTI Version=\"1.0\"><DataArray Intent=\"NIFTI_INTENT_POINTSET\" \
             DataType=\"NIFTI_TYPE_FLOAT32\" Dimensionality=\"2\" Dim0=\"1\" Dim1=\"3\" Encoding=\"{encoding}\" \
             Endian=\"LittleEndian\">{volume}<CoordinateSystemTransformMatrix>{space}{matrix}\
             </CoordinateSystemTransformMatrix><Data>{data}</Data></DataArray></GIFTI>"
        )
        .into_bytes()
    };
    // One point: 12 bytes of zeros, alone and in a zlib stream.
    Ok(vec![
        file("ASCII", "1 2 3"),
        file("Base64Binary", "AAAAAAAAAAAAAAAA"),
        file("GZipBase64Binary", "eJxjYEAAAAAMAAE="),
    ])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of tracts in TRX.
pub fn trx(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    Ok(vec![include_bytes!("../seeds/stored.trx").to_vec(), include_bytes!("../seeds/packed.trx").to_vec()])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of VTK's geometry.
pub fn vtk(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let head =
        |form: &str| format!("# vtk DataFile Version 4.2\nSPACE=LPS\n{form}\nDATASET POLYDATA\nPOINTS 3 float\n");
    let text = head("ASCII") + "1 2 3 4 5 6\n7 8 9\nPOLYGONS 1 4\n3 0 1 2\n";
    let values = (0..9).flat_map(|value| (value as f32).to_be_bytes()).collect();
    Ok(vec![text.into_bytes(), [head("BINARY").into_bytes(), values, b"\nPOLYGONS 1 4\n".to_vec()].concat()])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of surfaces in PLY.
pub fn ply(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let head = |form: &str| {
        let vertex = "element vertex 2\nproperty uchar red\nproperty float x\nproperty float y\nproperty double z\n";
        format!("ply\nformat {form} 1.0\ncomment SPACE=RAS\n{vertex}element face 0\nend_header\n")
    };
    let text = head("ascii") + "7 1 2 3\n8 4 5 6\n";
    let record = [&[7][..], &[0; 8], &1.5_f64.to_le_bytes()].concat();
    let binary = [head("binary_little_endian").into_bytes(), record.clone(), record].concat();
    Ok(vec![text.into_bytes(), binary])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of lists of labels.
pub fn label_lists(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    Ok(vec![b"1, 2\t-3\r\n\n 4,,5\n".to_vec(), b"\xef\xbb\xbf17\n18\n".to_vec()])
}

/// Valid inputs (seeds), which fuzzing damages, for the reader of tables of subjects.
pub fn tables(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    Ok(vec![
        b"subject,image,labels,mask\na,a.nii.gz,l.nii,\n,\"b, 2.nii\",,m.nii\n".to_vec(),
        b"\xef\xbb\xbfimage\r\n/x/y.nii.gz\r\nz.hdr\r\n".to_vec(),
    ])
}

/// Valid command lines of antsreg-gpu, from which fuzzing makes damaged command lines. The words of a line are
/// separated by zero bytes.
pub fn command_lines(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    const LINES: [&str; 18] = [
        "register -f f.nii -m m.nii -o p --fixed-labels fl.nii --moving-labels ml.nii --label-list 1,2 -t syn --dry-run",
        "register -f f.nii -m m.nii -o out/ --shrink-factors 8x4x2x1 --smoothing-sigmas 3x2x1x0vox --iterations 100x70x50x20",
        "register -f f -m m -o p --channel a,b,mi,0.5 --metric cc --cost nmi --bins 64 --winsorise 0.005,0.995 --search-degrees 90",
        "register -f f -m m -o p --initial-transform [a.mat,1] --restrict-deformation 1x1x0 --device cuda:1 --threads 4 -n bspline",
        "batch -f f.nii -o out a.nii b.nii t.csv --workers 2 --device cuda:0,1 --resume --fixed-mask m.nii --format nii",
        "apply -i m.nii -r f.nii -o w.nii.gz -n generic-label -t w.nii.gz -t [a.mat,1] --outside -1 --shrink 2 --integer",
        "apply --points p.csv -o q.csv -t a.mat --coordinates ras --explain",
        "labels -f f.nii -m m.nii -l l.nii -g t.nii -o p --label-list 1,2,3",
        "labels --leave-one-out -a atlases.csv -a a.nii=l.nii -o out/score_ --keep-going",
        "labels -l l.nii --apply w.nii --apply [a.mat,1] -r t.nii -o p",
        "template a.nii b.nii s.csv -o out --passes 4 --shape-step 0.25 --channels t1,t2 --weights 1,0.5 --margin 12 --plan-only",
        "template register-one out --pass 1 --subject sub-01 --device cuda",
        "template finish out --device cuda:all --quiet --log run.log",
        "overlap a.nii b.nii --label-list l.txt --csv o.csv",
        "compare a.nii b.nii --mask m.nii",
        "jacobian w.nii -o j.nii --logarithm --mask m.nii --inverse i.nii",
        "convert a.mat b.txt --from fsl --to itk -f f.nii -m m.nii",
        "info a.nii w.nii t.mat",
    ];
    Ok(LINES.iter().map(|line| words(&format!("antsreg-gpu {line}"))).collect())
}

/// Valid command lines of ANTs and FSL, from which fuzzing makes damaged command lines. The words of a line are
/// separated by zero bytes.
pub fn drop_in_lines(_: &Path) -> Result<Vec<Vec<u8>>, Error> {
    const LINES: [&str; 17] = [
        "antsRegistration -d 3 -o [p,w.nii.gz,i.nii.gz] -u 1 -w [0.005,0.995] -r [f.nii,m.nii,1] -t Rigid[0.1] -m MI[f.nii,m.nii,1,32,Regular,0.25] -c [1000x500x250x0,1e-6,10] -f 8x4x2x1 -s 3x2x1x0vox",
        "antsRegistration --dimensionality 3 --float 1 --output p --transform SyN[0.1,3,0] --metric CC[f.nii,m.nii,1,4] --metric Mattes[a.nii,b.nii,0.5,32] --convergence [100x70x50,1e-6,10] --shrink-factors 4x2x1 --smoothing-sigmas 2x1x0mm --masks [f.nii,NULL] --verbose 1",
        "antsRegistration -d 2 -a 1 -z 0 -i 1 -x m.nii -n BSpline[3] -g 1x0x1 -r a.mat -r [w.nii,1] -o p -t Affine[0.1] -m GC[f.nii,m.nii,1,1] -c 100x0 -f 2x1 -s 1x0 -t SyN[0.2,3,0] -m Demons[f.nii,m.nii,1,0] -c 10 -f 1 -s 0",
        "antsRegistrationSyN.sh -d 3 -f f.nii -m m.nii -o p -t s -n 4 -r 2 -p f -j 1 -y 1 -z 0 -x a.nii,b.nii -e 3",
        "antsRegistrationSyNQuick.sh -d 3 -f f.nii -m m.nii -f f2.nii -m m2.nii -i a.mat -t so -r 48 -g 0.1",
        "antsApplyTransforms -d 3 -e 3 -i m.nii -r f.nii -o w.nii.gz -n GenericLabel[Linear] -t w.nii -t [a.mat,1] -t identity -f -1 -u short --float 1 -v 1",
        "antsApplyTransforms -d 3 -r f.nii -o [w.nii.gz,1] -n MultiLabel[0.8,4.0] -t [w.nii,0] --static-cast-for-R 0",
        "antsApplyTransforms -d 2 -i m.nii -r f.nii -o Linear[a.mat,1] -t a.mat -n LanczosWindowedSinc",
        "antsApplyTransformsToPoints -d 3 -p 1 -i p.csv -o q.csv -t [a.mat,1] -t w.nii.gz",
        "antsAffineInitializer 3 f.nii m.nii a.mat 15 0.1 0 10 mask.nii",
        "antsAI -d 3 -m Mattes[f.nii,m.nii,32,Regular,0.25] -t Rigid[0.1] -s [20,0.12] -g [40,0x40x40] -c 10 -x m.nii -p 0 -o a.mat -v 1",
        "antsJointFusion -d 3 -t t.nii -g a.nii -g b.nii -l al.nii -l bl.nii -o [l.nii.gz,i%02d.nii.gz,p%04d.nii.gz]",
        "antsJointLabelFusion.sh -d 3 -t t.nii -o o_ -g a.nii -l al.nii -g b.nii -l bl.nii -y sr -x or -p p%03d.nii.gz -k 1",
        "antsJointFusion -d 3 -t t.nii -g a.nii -l al.nii -g b.nii -l bl.nii -x m.nii -a 0.1 -b 2 -p 2x2x2 -s 3x3x3 -c 0 -m PC -o [l.nii.gz]",
        "mcflirt -in m.nii -cost normcorr -dof 7 -smooth 1.00 -refvol 3 -mats -plots -rmsabs -rmsrel -stats -spline_final -out o.nii",
        "flirt -in m.nii -ref f.nii -out w.nii -omat a.mat -dof 12 -cost corratio -searchrx -90 90 -searchry -90 90 -searchrz -180 180 -interp sinc -sincwidth 7 -sincwindow hanning -bins 256 -refweight r.nii -datatype short -v",
        "flirt -in m.nii -ref f.nii -applyisoxfm 1.5 -usesqform -out w.nii -paddingsize 0.5 -finesearch 18 -coarsesearch 60 -schedule s.sch -noresample",
    ];
    Ok(LINES.iter().map(|line| words(line)).collect())
}

/// The words of a command line, separated by zero bytes.
fn words(line: &str) -> Vec<u8> {
    line.replace(' ', "\0").into_bytes()
}

/// Returns the bytes of the file that `write` writes.
fn written(folder: &Path, name: &str, write: impl FnOnce(&Path) -> Result<(), Error>) -> Result<Vec<u8>, Error> {
    let path = folder.join(name);
    write(&path)?;
    let bytes = std::fs::read(&path).map_err(|error| Error { path: path.clone(), kind: error.into() })?;
    let _ = std::fs::remove_file(path);
    Ok(bytes)
}
