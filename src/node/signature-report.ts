import { signatureLibrary } from '../crypto/secp256k1.ts';
import type { Log } from '../util/log.ts';

/** Logs the signature library in use, and each preferred one that cannot be used. */
export function reportSignatureLibrary(log: Log): void {
  const { engine, source, refused } = signatureLibrary();
  for (const library of refused)
    log.warn('signature library refused', { library: library.source, reason: library.reason });
  log.info('signature library', { kind: engine.name, library: source });
  if (engine.name === 'noble')
    log.warn('script verification is about ten times slower without a native signature library', {
      install: 'libsecp256k1',
    });
}
