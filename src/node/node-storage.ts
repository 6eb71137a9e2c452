import type { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/settings.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { chainIdentityOf } from '../storage/database.ts';
import { openNodeDatabase } from '../storage/node-database.ts';
import { storageProblem } from './storage-problem.ts';

/** Opens node.db for its single writer; the directory must be locked. Throws OperatorError where it cannot be used. */
export function openNodeStorage(config: Config, params: NetworkParams): Database {
  try {
    mkdirSync(config.networkDir, { recursive: true, mode: 0o700 });
    return openNodeDatabase(join(config.networkDir, 'node.db'), chainIdentityOf(params));
  } catch (error) {
    throw storageProblem(error, config.networkDir);
  }
}
