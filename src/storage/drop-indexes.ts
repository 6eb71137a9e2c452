import type { Database } from 'bun:sqlite';
import { durably } from './database.ts';
import { HISTORY, SCRIPT_COINS, SPENDERS, TX_INDEX } from './runs/run-family.ts';
import { RunManifest, RunManifestWriter } from './runs/run-manifest.ts';

/**
 * Removes the rows of all indexes durably, so that the next start builds them again in the background. The coins stay.
 * The files of removed runs are removed by the next start.
 */
export function dropIndexes(db: Database): void {
  const version = new RunManifest(db).version;
  const writer = new RunManifestWriter(db);
  durably(db, () =>
    db
      .transaction(() => {
        for (const { code } of [TX_INDEX, HISTORY, SCRIPT_COINS, SPENDERS])
          db.run('DELETE FROM runs WHERE family = ?', [code]);
        db.run('DELETE FROM indexes');
        db.run('DELETE FROM txs');
        db.run('DELETE FROM coin_stats');
        db.run('DELETE FROM coin_stats_value');
        writer.setVersion(version + 1);
      })
      .immediate(),
  );
}
