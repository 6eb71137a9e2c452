import { proofCommand } from './command.ts';
import { PROOFS } from './proofs.ts';

const ended = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ended.abort(new Error(`ended by ${name}`)));
process.exit(await proofCommand(PROOFS, process.argv.slice(2), ended.signal));
