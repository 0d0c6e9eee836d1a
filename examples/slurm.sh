#!/bin/bash
# Certify a run as a Slurm job array: `sbatch --array=0-15 examples/slurm.sh RUN --procedure curve`.
#
# Each task certifies every 16th image into its own part of the log, and knows nothing of the others: tasks may start at
# different times, fail, be cancelled or be submitted again, with another --array size too. Images that any part of the
# log holds are not certified again. When all are done: smoothcert merge RUN
#SBATCH --job-name=smoothcert
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --time=04:00:00
#SBATCH --requeue
# For GPUs: #SBATCH --gres=gpu:1
set -euo pipefail
export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}"
run=${1:?usage: sbatch --array=0-15 slurm.sh RUN [options of smoothcert certify]}
shift
exec smoothcert certify "$run" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" "$@"
