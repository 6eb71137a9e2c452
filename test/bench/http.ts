import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { RecordedReply } from './http/bare.ts';
import { copyOf, prepareSample, type ServerProcess, startBare, startNode } from './http/chain.ts';
import { startCore } from './http/core.ts';
import { FRONT_ROWS, reportFronts } from './http/fronts.ts';
import { runLoad, type Wire } from './http/load.ts';
import { pinClient, processorTime } from './http/processor-time.ts';
import { coreRow, type Row, requestTexts, rowsFor, WIDE_ROW } from './http/rows.ts';
import { grouped, percentile, printGrid } from './report.ts';

const WARM_UP_MS = 200;
/** Requests before the first round, which compile the code of the row; fewer if they take very long. */
const WARM_UP_REQUESTS = 3000;
const WARM_UP_WINDOWS = 20;
/** Each of several fronts compiles its own code, in its part of the time of their core. */
const WARM_UP_WINDOWS_OF_FRONTS = 40;
const READY_MS = 60_000;
/** A server is idle when it uses less than this share of a processor in some windows one after another. */
const QUIET_SHARE = 0.04;
const QUIET_MS = 500;
const QUIET_WINDOWS = 4;
const CORE = 'Core';
const BARE = 'Bun.serve with several threads';
const BARE_ONE = 'Bun.serve';
const ROOT = resolve(import.meta.dir, '../..');

interface Target {
  readonly name: string;
  readonly server: ServerProcess;
}

/** The load before the first round, which ends at one of these numbers. */
interface WarmUp {
  readonly requests: number;
  readonly windows: number;
}

/** Measurements of one row on one target, one value per round. */
interface Series {
  readonly perSecond: number[];
  readonly processorUs: number[];
  readonly latencies: number[];
}

/**
 * Sends requests of every kind to a node, to a bare Bun.serve and a bare Elysia that return the same bytes, with
 * `--base DIR` to the node of another checkout, and with `--core BITCOIND` to Bitcoin Core with the same chain where it
 * answers the same question, in alternation. The servers share one core, and the client has another. With `--fronts N` the
 * node with N fronts alternates with one that has one, and a bare Bun.serve with N threads with one that has one, which
 * shows what the runtime loses itself. `--connections N` keeps as many requests in flight, `--only NAME,…` selects rows by
 * parts of their names.
 */
export async function benchHttp(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      base: { type: 'string' },
      core: { type: 'string' },
      only: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      ms: { type: 'string', default: '300' },
      fronts: { type: 'string' },
      connections: { type: 'string', default: '8' },
    },
  });
  pinClient();
  const { fronts } = values;
  const base = values.base !== undefined ? resolve(values.base) : fronts === undefined ? null : ROOT;
  const wanted = values.only?.split(',');
  // Its block takes a minute to make.
  const isWide = fronts === undefined && wanted?.some((part) => WIDE_ROW.includes(part)) === true;
  const { datadir, sample } = await prepareSample(base ?? ROOT, isWide);
  // Copied before the first start, which may convert the directory to a schema that the base cannot read.
  const directories = base ? [datadir, copyOf(datadir)] : [datadir];
  const targets: Target[] = [];
  try {
    if (values.core !== undefined)
      targets.push({ name: CORE, server: await startCore(resolve(values.core), datadir, sample.tipHeight) });
    const settings = fronts === undefined ? ['--http.coreRest=public'] : [`--workers.front=${fronts}`];
    const node = await startNode(ROOT, datadir, settings);
    targets.unshift({ name: 'node', server: node });
    if (base) targets.push({ name: 'base', server: await startNode(base, directories[1]!) });
    const isDefault = (name: string) => fronts === undefined || FRONT_ROWS.includes(name);
    const rows = rowsFor(sample, Number(values.connections)).filter(({ name }) =>
      wanted ? wanted.some((part) => name.includes(part)) : isDefault(name),
    );
    await untilReady(node.port);
    for (const target of targets) await untilIdle(target);
    const recorded: RecordedReply[] = [];
    for (const row of rows) recorded.push(await record(row, node.port));
    const file = join(datadir, 'replies.json');
    writeFileSync(file, JSON.stringify(recorded));
    if (fronts === undefined) {
      targets.push({ name: 'Bun.serve', server: await startBare('bun', file) });
      targets.push({ name: 'Elysia', server: await startBare('elysia', file) });
    } else {
      targets.push({ name: BARE, server: await startBare('bun', file, Number(fronts)) });
      targets.push({ name: BARE_ONE, server: await startBare('bun', file) });
    }
    const measured: (readonly [Row, ReadonlyMap<string, Series>])[] = [];
    for (const [index, row] of rows.entries()) {
      const etag = row.status === 304 ? (recorded[index]!.headers.etag ?? null) : null;
      const options = { etag, rounds: Number(values.rounds), ms: Number(values.ms) };
      // Each front compiles its own code, so several need more requests until it is.
      const warmUp =
        fronts === undefined
          ? { requests: WARM_UP_REQUESTS, windows: WARM_UP_WINDOWS }
          : { requests: Number.POSITIVE_INFINITY, windows: WARM_UP_WINDOWS_OF_FRONTS };
      const series = await measure(targets, row, { ...options, warmUp });
      measured.push([row, series]);
      console.error(`${index + 1}/${rows.length} ${row.name}${base && !row.isNew ? `: ${pairedRatio(series)}` : ''}`);
    }
    if (fronts === undefined) report(measured, { base: base !== null, core: values.core !== undefined });
    else {
      const compared = measured.map(([{ name }, series]) => {
        return {
          name,
          several: series.get('node')!,
          one: series.get('base')!,
          bareSeveral: series.get(BARE)!,
          bareOne: series.get(BARE_ONE)!,
        };
      });
      reportFronts(compared, Number(fronts));
    }
  } finally {
    for (const { server } of targets) await server.stop();
    for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  }
}

/** Resolves when the node is ready and has read its saved mempool. */
async function untilReady(port: number): Promise<void> {
  const deadline = performance.now() + READY_MS;
  for (;;) {
    const { checks } = (await (await fetch(`http://127.0.0.1:${port}/readyz`)).json()) as Readiness;
    if (checks.mempool?.status === 'ok' && Object.values(checks).every(({ status }) => status === 'ok')) return;
    if (performance.now() > deadline) throw new Error('the node is not ready');
    await Bun.sleep(50);
  }
}

/**
 * Resolves when a server has finished the work after its start: a new wallet derives its keys, and code is compiled. After a
 * minute it says that the server is not idle, and resolves.
 */
async function untilIdle({ name, server: { pid } }: Target): Promise<void> {
  const deadline = performance.now() + READY_MS;
  for (let quiet = 0; quiet < QUIET_WINDOWS; ) {
    if (performance.now() > deadline) return console.error(`${name} is not idle, which the figures contain`);
    const [from, before] = [performance.now(), processorTime(pid)];
    await Bun.sleep(QUIET_MS);
    const share = (processorTime(pid) - before) / 1000 / (performance.now() - from);
    quiet = share < QUIET_SHARE ? quiet + 1 : 0;
  }
}

interface Readiness {
  readonly checks: Readonly<Record<string, { readonly status: string }>>;
}

/** Records the node's reply to the row, which the bare servers repeat. */
async function record(row: Row, port: number): Promise<RecordedReply> {
  const { name, method, path, pattern, status, authorizations, headers, body } = row;
  const [authorization] = authorizations;
  if (status === 101) return { row: name, method, pattern, path, status, headers: {}, body: '' };
  const send = (more: Readonly<Record<string, string>> = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      body,
      headers: { ...headers, ...(authorization && { authorization }), ...more, 'accept-encoding': 'identity' },
    });
  for (let i = 0; i < row.before; i++) await (await send()).bytes();
  let reply = await send();
  if (status === 304) reply = await send({ 'if-none-match': reply.headers.get('etag')! });
  if (reply.status !== status) throw new Error(`${name}: ${reply.status} ${await reply.text()}`);
  const bytes = await reply.bytes();
  const replyHeaders = Object.fromEntries([...reply.headers].filter(([key]) => !HOP_HEADERS.includes(key)));
  return { row: name, method, pattern, path, status, headers: replyHeaders, body: bytes.toBase64() };
}

const HOP_HEADERS = ['content-length', 'date', 'connection', 'transfer-encoding'];

async function measure(
  targets: readonly Target[],
  row: Row,
  { etag, rounds, ms, warmUp }: { etag: string | null; rounds: number; ms: number; warmUp: WarmUp },
): Promise<ReadonlyMap<string, Series>> {
  const { status, connectionEach, atMost, connections } = row;
  const asked = coreRow(row);
  const texts = { own: requestTexts(row, etag), core: asked && requestTexts(asked, null) };
  const wireOf = (name: string): Wire => {
    return { texts: name === CORE ? texts.core! : texts.own, status, connectionEach, atMost };
  };
  const measured = targets.filter(
    ({ name }) => (name !== CORE || texts.core !== null) && (name !== 'base' || !row.isNew),
  );
  const series = new Map(
    measured.map(({ name }) => [name, { perSecond: [], processorUs: [], latencies: [] } as Series]),
  );
  for (const { name, server } of measured) {
    if (row.before > 0 && (name === 'node' || name === 'base')) await record(row, server.port);
    for (let window = 0, sent = 0; window < warmUp.windows && sent < Math.min(warmUp.requests, atMost); window++)
      sent += (await runLoad(server.port, wireOf(name), connections, WARM_UP_MS)).requests;
  }
  for (let round = 0; round < rounds; round++)
    for (let i = 0; i < measured.length; i++) {
      // Each round begins with another target, so that their order has no effect.
      const { name, server } = measured[(i + round) % measured.length]!;
      const before = processorTime(server.pid);
      const { requests, seconds, latencies } = await runLoad(server.port, wireOf(name), connections, ms);
      const { perSecond, processorUs, latencies: all } = series.get(name)!;
      perSecond.push(requests / seconds);
      processorUs.push((processorTime(server.pid) - before) / requests);
      all.push(...latencies);
    }
  return series;
}

function report(
  measured: readonly (readonly [Row, ReadonlyMap<string, Series>])[],
  { base: withBase, core: withCore }: { readonly base: boolean; readonly core: boolean },
): void {
  console.log(
    'requests/s: median of the rounds, and the spread in percent of it; p50 and p99 in ms; µs: processor time of the\n' +
      'server for one request, the least of the rounds, which says more than the rest on a machine that is shared;\n' +
      'of bare: requests for its processor time relative to Bun.serve, the median of the rounds\n',
  );
  const names = ['node', ...(withBase ? ['base'] : []), 'Bun.serve', 'Elysia', ...(withCore ? [CORE] : [])];
  const head = ['', 'req/s', '±%', 'p50', 'p99', ...names.map((name) => `µs ${name}`), 'of bare'];
  if (withCore) head.push('Core req/s', 'of Core');
  if (withBase) head.push('least', 'paired', 'quartiles', 'req/s');
  const lines = measured.map(([row, series]) => {
    const { perSecond, latencies } = series.get('node')!;
    const sorted = perSecond.toSorted((a, b) => a - b);
    const times = latencies.toSorted((a, b) => a - b);
    const middle = percentile(sorted, 0.5);
    const line = [
      row.name,
      grouped(middle),
      grouped(((sorted.at(-1)! - sorted[0]!) / middle) * 50),
      grouped(percentile(times, 0.5), 2),
      grouped(percentile(times, 0.99), 2),
      ...names.map((name) => leastOf(series.get(name))),
      share(series.get('Bun.serve')!, series.get('node')!),
    ];
    if (withCore) line.push(...besideCore(series.get('node')!, series.get(CORE) ?? null));
    // The base has no answer to a new row.
    if (withBase) line.push(...(row.isNew ? ['', '', '', ''] : comparison(series.get('node')!, series.get('base')!)));
    return line;
  });
  printGrid(head, lines);
}

function leastOf(series: Series | undefined): string {
  return series ? grouped(Math.min(...series.processorUs), 1) : '';
}

/** Returns the requests per processor second of `node` relative to those of `other`: the median of the rounds. */
function share(other: Series, node: Series): string {
  return percentile(roundRatios(other, node), 0.5).toFixed(2);
}

/** Returns the requests a second of Bitcoin Core, which has several threads, and those of the node relative to them. */
function besideCore(node: Series, core: Series | null): string[] {
  if (core === null) return ['', ''];
  return [grouped(median(core.perSecond)), (median(node.perSecond) / median(core.perSecond)).toFixed(2)];
}

/**
 * Returns the processor time of the node relative to the base, percent: of the minimum over all rounds, and the median
 * and quartiles of the rounds; and the median of its requests per second.
 */
function comparison(node: Series, base: Series): string[] {
  const ratios = roundRatios(node, base);
  return [
    percent(Math.min(...node.processorUs) / Math.min(...base.processorUs)),
    percent(percentile(ratios, 0.5)),
    `${percent(percentile(ratios, 0.25))} … ${percent(percentile(ratios, 0.75))}`,
    percent(median(node.perSecond) / median(base.perSecond)),
  ];
}

/** Returns the ratio of each round, sorted. Both servers of one round meet the same load of the machine. */
function roundRatios(node: Series, base: Series): number[] {
  return node.processorUs.map((us, round) => us / base.processorUs[round]!).toSorted((a, b) => a - b);
}

function pairedRatio(series: ReadonlyMap<string, Series>): string {
  return percent(percentile(roundRatios(series.get('node')!, series.get('base')!), 0.5));
}

function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

function percent(ratio: number): string {
  return `${ratio >= 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(1)}%`;
}
