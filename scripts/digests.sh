#!/usr/bin/env bash
# Digests of what a build of the program writes, for comparing two builds: the same bytes or not.
#
#   scripts/digests.sh PROGRAM [DEVICE] > FILE      registers the example pair in every way below; DEVICE: cpu (default) or cuda
#   diff BEFORE AFTER                               nothing, if both builds write the same
#
# Records, reports and tables with times are left out.
set -euo pipefail

program=$(realpath "$1") device=${2:-cpu}
examples=$(realpath "$(dirname "$0")/../examples")
fixed=$examples/icbm152_t1_2mm.nii.gz moving=$examples/colin27_t1_2mm.nii.gz labels=$examples/colin27_aal_2mm.nii.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# From the example pair: a slice and a mask of each image, and a third subject (the moving image mirrored in intensity order
# would be another modality: its square root serves as a second channel and as a third subject).
python3 - "$fixed" "$moving" <<'PYTHON'
import gzip, math, struct, sys

def read(path):
    data = gzip.open(path).read()
    shape = struct.unpack_from("<8h", data, 40)[1:4]
    kind, = struct.unpack_from("<h", data, 70)
    offset = int(struct.unpack_from("<f", data, 108)[0])
    code = {2: "B", 4: "h", 8: "i", 16: "f", 512: "H"}[kind]
    count = math.prod(shape)
    slope, inter = struct.unpack_from("<2f", data, 112)
    slope = slope or 1.0
    values = [slope * v + inter for v in struct.unpack_from(f"<{count}{code}", data, offset)]
    return bytearray(data[:348]), shape, values

def write(path, header, shape, values):
    header = bytearray(header)
    dimensions = 2 if shape[2] == 1 else 3
    struct.pack_into("<8h", header, 40, dimensions, *shape, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 16, 32)
    struct.pack_into("<3f", header, 108, 352.0, 1.0, 0.0)
    with open(path, "wb") as file:
        file.write(header + b"\0\0\0\0" + struct.pack(f"<{len(values)}f", *values))

for name, path in zip("fm", sys.argv[1:]):
    header, (nx, ny, nz), values = read(path)
    write(f"{name}_root.nii", header, (nx, ny, nz), [math.sqrt(max(v, 0.0)) for v in values])
    write(f"{name}_mask.nii", header, (nx, ny, nz), [float(v > 0) for v in values])
    plane = nx * ny
    write(f"{name}_slice.nii", header, (nx, ny, 1), values[plane * (nz // 2):plane * (nz // 2 + 1)])
PYTHON

register() { # NAME OPTION…
    "$program" register -q -o "$1_" --device "$device" "${@:2}" > /dev/null 2>&1 || echo "$1: exit code $?"
}
pair=(-f "$fixed" -m "$moving")
register default "${pair[@]}" --moving-labels "$labels"
register best "${pair[@]}" --preset best
register fast "${pair[@]}" --preset fast --format nii -n bspline
register multimodal "${pair[@]}" --preset multimodal
register rigid "${pair[@]}" -t rigid -n sinc
register headers "${pair[@]}" -t syn-only --initial-transform headers --preset fast
register powell "${pair[@]}" -t similarity --optimiser powell --cost ncc
register slices -f f_slice.nii -m m_slice.nii
register channels "${pair[@]}" --channel f_root.nii,m_root.nii,mattes,0.5 --preset fast
register masks "${pair[@]}" --fixed-mask f_mask.nii --moving-mask m_mask.nii --preset fast
"$program" batch -q -f "$fixed" -o batch --device "$device" --preset fast "$moving" m_root.nii > /dev/null 2>&1
"$program" labels -q -f "$fixed" -a "$moving=$labels" -a "m_root.nii=$labels" -o labels_ --device "$device" --preset fast \
    --keep-transforms > /dev/null 2>&1
"$program" atlas -q -o atlas --passes 1 --device "$device" --preset fast "$fixed" "$moving" m_root.nii > /dev/null 2>&1

find . -type f ! -name '*.json' ! -name '*.csv' ! -name '*.html' ! -path './atlas/pass_*' ! -path './atlas/start/*' \
    ! -name '[fm]_*.nii' -print0 | sort -z | xargs -0 sha256sum
