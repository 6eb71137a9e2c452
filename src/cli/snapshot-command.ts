import { statSync } from 'node:fs';
import { loadConfig } from '../config/load.ts';
import type { SnapshotOptions, SnapshotReport } from '../node/snapshot/snapshot-request.ts';
import { lowerThreadPriority } from '../util/nice.ts';
import { ObjectStore } from '../util/object-store.ts';
import { didYouMean } from '../util/suggest.ts';
import { assertOwner } from './auth-access.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { readObjectAccess, readObjectPlace } from './object-access.ts';
import { splitOwnFlags } from './own-flags.ts';
import { bytesText } from './status-screen.ts';
import { openTransferProgress } from './transfer-output.ts';

const ACTIONS = ['push', 'pull'] as const;
const MAX_HEIGHT_DIGITS = 9;
/** A push is behind everything that clients and peers of a running node wait for. */
const PUSH_NICE = 19;

export const command: Command = {
  usage: 'snapshot push|pull s3://BUCKET/PREFIX [options]',
  description: `Moves the chain to object storage (S3) and from there to a new node, which then serves without a sync. A snapshot has a
copy of chain.db without its event log, the files of coins and indexes, blocks, undo data and block filters, and a manifest
with the size and SHA-256 of each. It has no wallet, key, watch, webhook or setting.

push reads the data of a stopped node, or beside a running one, and sends only what the place does not have. The manifest is
written last: an interrupted push leaves the former snapshot whole. pull needs a data directory without a chain, and a
stopped node. It verifies all files, and the chain appears when it is complete. Both continue where they were interrupted.
Pull only from a place that you trust: obverse verify compares coins with blocks, and no script is verified again.

The credentials are read from the environment alone: S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY and, where there is one,
S3_SESSION_TOKEN, or the same names with AWS_. S3_ENDPOINT and S3_REGION are defaults of the flags.

Exit status: 0 the snapshot is complete, 1 it is not, 2 the command line or the configuration is wrong.`,
  options: [
    ['--endpoint URL', 'server of the object storage (default that of Amazon)'],
    ['--region NAME', 'region of the bucket (default us-east-1)'],
    ['--height HEIGHT', 'with pull: the snapshot of this height (default the newest)'],
    ['--json', 'print one JSON object'],
    ...COMMON_OPTIONS,
  ],
  examples: [
    'obverse snapshot push s3://snapshots/main --endpoint https://s3.example.com',
    'obverse snapshot pull s3://snapshots/main --region eu-central-1 --datadir /srv/obverse',
  ],
  async run(args, { signal, out, err }) {
    const [name = '', ...words] = args;
    const action = ACTIONS.find((each) => each === name);
    if (action === undefined) throw new UsageError(`snapshot needs push or pull${didYouMean(name, ACTIONS)}`);
    const { values, rest } = splitOwnFlags(words, {
      ...{ '--endpoint': 'text', '--region': 'text', '--height': 'text', '--json': 'switch' },
    });
    const flag = (key: string) => values.get(key)?.[0] ?? null;
    const { config, positionals } = loadConfig(rest);
    const [place, surplus] = positionals;
    if (place === undefined)
      throw new UsageError(`snapshot ${action} needs a place: obverse snapshot ${action} s3://BUCKET/PREFIX`);
    if (surplus !== undefined) throw new UsageError(`snapshot ${action} takes one place: ${surplus}`);
    const height = readSnapshotHeight(flag('--height'));
    if (height !== null && action === 'push') throw new UsageError('--height goes with snapshot pull alone');
    const access = readObjectAccess({ endpoint: flag('--endpoint'), region: flag('--region') }, process.env);
    const store = new ObjectStore(readObjectPlace(place), access);
    const owner = statSync(config.networkDir, { throwIfNoEntry: false })?.uid;
    if (owner !== undefined) assertOwner(config.networkDir, owner, `snapshot ${action}`);
    process.umask(0o077);
    if (action === 'push') lowerThreadPriority(PUSH_NICE);
    const progress = openTransferProgress(err);
    const options: SnapshotOptions = { store, signal, progress: (at) => progress.update(at) };
    let report: SnapshotReport | 'aborted';
    try {
      report =
        action === 'push'
          ? await (await import('../node/snapshot/run-push.ts')).runPush(config, options)
          : await (await import('../node/snapshot/run-pull.ts')).runPull(config, { ...options, height });
    } finally {
      progress.finish();
    }
    if (report === 'aborted') {
      err(`obverse: ${action} interrupted; run it again to continue\n`);
      return 1;
    }
    if (values.has('--json')) out(`${JSON.stringify(report)}\n`);
    else out(`${summaryOf(report, action === 'push' ? 'sent' : 'received')}\n`);
    return 0;
  },
};

function summaryOf({ place, files, bytes, moved, tip, network }: SnapshotReport, verb: string): string {
  return `${place}: ${files} files of ${network}, ${bytesText(bytes)}, ${bytesText(moved)} of them ${verb}; the chain up to height ${tip.height}, ${tip.hash}`;
}

function readSnapshotHeight(text: string | null): number | null {
  if (text === null) return null;
  if (!/^\d+$/.test(text) || text.length > MAX_HEIGHT_DIGITS) throw new UsageError(`--height is a height, not ${text}`);
  return Number(text);
}
