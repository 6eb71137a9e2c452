import { join } from 'node:path';
import { systemLibraryFiles } from '../../src/crypto/system-library.ts';
import { grouped, printGrid } from './report.ts';
import type { SignatureFigures } from './signatures/measure.ts';

const PROGRAM = join(import.meta.dir, 'signatures/measure.ts');

/** Measures each signature library in a process of its own, and the files of further ones that are named. */
export function benchSignatures(files: readonly string[]): void {
  // The signed cases are made without a native library, whose memory is measured.
  const env = { ...process.env, OBVERSE_SIGNATURE_LIBRARY: 'noble' };
  const lines = [...systemLibraryFiles(), ...files, 'addon', 'noble'].map((library) => {
    const { stdout, stderr, success } = Bun.spawnSync([process.execPath, PROGRAM, library], { env });
    if (!success) throw new Error(`${library}: ${stderr.toString()}`);
    const figures = JSON.parse(stdout.toString()) as SignatureFigures;
    return [
      library,
      ...[
        figures.ecdsa,
        figures.schnorr,
        figures.ecdsaKnownKey,
        figures.schnorrKnownKey,
        figures.tweak,
        figures.sign,
      ].map((value) => grouped(value)),
      ...[figures.workers, figures.callNanoseconds, figures.openMs, figures.memoryMiB].map((value, i) =>
        grouped(value, i < 2 ? 0 : 1),
      ),
    ];
  });
  printGrid(
    [
      'operations/s of CPU time',
      'ECDSA',
      'Schnorr',
      'ECDSA, known key',
      'Schnorr, known key',
      'tweak',
      'sign',
      'ECDSA, 2 workers',
      'call, ns',
      'open, ms',
      'MiB',
    ],
    lines,
  );
}
