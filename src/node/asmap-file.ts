import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { Asmap, asmapProblem } from '../p2p/address/asmap.ts';
import { bytesToHex } from '../util/bytes.ts';
import type { Log } from '../util/log.ts';
import { OperatorError } from '../util/operator-error.ts';

/** Maximum size of a map, bytes; the largest that are published have 2 MB. */
const MAX_SIZE = 64 * 1024 * 1024;

/**
 * Reads the map of autonomous systems of `p2p.asmap`; null for none. Throws OperatorError, with Core's sentences, if
 * there is no such file or it is not a map.
 */
export function loadAsmap(path: string | null, log: Log): Asmap | null {
  if (path === null) {
    log.info('addresses are grouped by prefix');
    return null;
  }
  const bytes = readMap(path);
  log.info('map of autonomous systems read', { path, bytes: bytes.length });
  const problem = asmapProblem(bytes);
  if (problem !== null) throw refused(`Could not parse asmap file "${path}"`, problem);
  const asmap = new Asmap(bytes);
  // Core shows a hash with its last byte first.
  log.info('addresses are grouped by autonomous system', { version: bytesToHex(asmap.version.toReversed()) });
  return asmap;
}

function readMap(path: string): Uint8Array {
  let fd: number;
  try {
    // Without O_NONBLOCK the start would wait for a writer where the path is a pipe.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw refused(`Could not find asmap file "${path}"`);
    throw refused(`Could not parse asmap file "${path}"`, code ?? 'unreadable');
  }
  try {
    const facts = fstatSync(fd);
    if (!facts.isFile()) throw refused(`Could not parse asmap file "${path}"`, 'it is not a file');
    if (facts.size > MAX_SIZE)
      throw refused(`Could not parse asmap file "${path}"`, `it has ${facts.size} bytes, more than ${MAX_SIZE}`);
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

function refused(sentence: string, reason?: string): OperatorError {
  return new OperatorError(`p2p.asmap: ${sentence}${reason === undefined ? '' : `: ${reason}`}`, {
    isOfSettings: true,
  });
}
