import { parseService, printAddress, printService } from '../address/address-text.ts';
import { equalServices, type NetService } from '../address/net-address.ts';
import type { ConnectionTable } from './connection-table.ts';
import type { Dialer } from './dialer.ts';
import { MANUAL_SLOTS } from './net-options.ts';
import type { Routes } from './network-routes.ts';
import type { Timing } from './timing.ts';

/** Maximum number of added nodes. */
const MAX_ADDED = 1000;
/** Limit of Core: with more added nodes, automatic connections do not check whether an address is among them. */
const MAX_SEARCHED = 24;

export interface AddedNode {
  /** The text as the operator entered it. */
  readonly text: string;
  readonly v2: boolean;
}

export interface AddedNodeState extends AddedNode {
  readonly connected: { readonly service: NetService; readonly inbound: boolean } | null;
}

/** Nodes that the operator wants to be connected to permanently (`addnode`). */
export class AddedNodes {
  readonly #defaultPort: number;
  readonly #defaultV2: boolean;
  readonly #routes: Pick<Routes, 'resolveCjdnsOf'>;
  #nodes: AddedNode[] = [];

  constructor(defaultPort: number, defaultV2: boolean, routes: Pick<Routes, 'resolveCjdnsOf'>) {
    this.#defaultPort = defaultPort;
    this.#routes = routes;
    this.#defaultV2 = defaultV2;
  }

  get size(): number {
    return this.#nodes.length;
  }

  /** Adds a node, which is connected to permanently. Returns false if it is known or the list is full. */
  addNode(text: string, v2: boolean = this.#defaultV2): boolean {
    const node = { text, v2 };
    const service = this.#serviceOf(node);
    const isSame = (other: AddedNode) => {
      const known = this.#serviceOf(other);
      return other.text === node.text || (service !== null && known !== null && equalServices(service, known));
    };
    if (this.#nodes.length >= MAX_ADDED || this.#nodes.some(isSame)) return false;
    this.#nodes.push(node);
    return true;
  }

  /** Removes a node by the exact text it was added with; its connection stays open. Returns whether it existed. */
  removeNode(text: string): boolean {
    const before = this.#nodes.length;
    this.#nodes = this.#nodes.filter((node) => node.text !== text);
    return this.#nodes.length < before;
  }

  /** Returns whether the operator added this address. */
  has(service: NetService): boolean {
    if (this.#nodes.length >= MAX_SEARCHED) return false;
    const texts = [printAddress(service.address), printService(service)];
    return this.#nodes.some(({ text }) => texts.includes(text));
  }

  states(table: ConnectionTable): AddedNodeState[] {
    const links = table.all();
    return this.#nodes.map((node) => {
      const service = this.#serviceOf(node);
      const link = links.find((link) =>
        service === null ? link.name === node.text : equalServices(link.service, service),
      );
      const connected = link === undefined ? null : { service: link.service, inbound: link.type === 'inbound' };
      return { ...node, connected };
    });
  }

  #serviceOf({ text }: AddedNode): NetService | null {
    const service = parseService(text, this.#defaultPort);
    return service && this.#routes.resolveCjdnsOf(service);
  }
}

const PAUSE_MS = 500;
/** Maximum factor of the pause between two attempts. */
const MAX_PAUSES = 10;
const IDLE_MS = 2000;
const RETRY_MS = 60_000;

export interface ManualParts {
  readonly dialer: Dialer;
  readonly table: ConnectionTable;
  readonly added: AddedNodes;
  readonly timing: Timing;
  readonly v2: boolean;
}

/**
 * Connects to each name of a list whenever it is not connected, with growing pauses. Rejects with the signal's reason.
 */
export async function keepConnected(
  names: readonly string[],
  { dialer, timing, v2 }: ManualParts,
  signal: AbortSignal,
): Promise<never> {
  for (let round = 0; ; round++) {
    for (const to of names) {
      await dialer.open({ type: 'manual', to, v2, countFailure: false }, signal);
      await timing.sleep(PAUSE_MS * Math.min(round, MAX_PAUSES), signal);
    }
    await timing.sleep(PAUSE_MS, signal);
  }
}

/** Connects to added nodes that are not connected, once per minute. Rejects with the signal's reason. */
export async function keepAdded({ dialer, table, added, timing }: ManualParts, signal: AbortSignal): Promise<never> {
  for (;;) {
    const states = added.states(table);
    let free = MANUAL_SLOTS - states.filter(({ connected }) => connected?.inbound === false).length;
    let tried = false;
    for (const { text, v2, connected } of states) {
      if (connected !== null || free <= 0) continue;
      tried = true;
      const link = await dialer.open({ type: 'manual', to: text, v2, countFailure: false }, signal);
      if (link !== null) free--;
      await timing.sleep(PAUSE_MS, signal);
    }
    await timing.sleep(tried ? RETRY_MS : IDLE_MS, signal);
  }
}
