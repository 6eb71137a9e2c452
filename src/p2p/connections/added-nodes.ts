import { parseService, printAddress, printService } from '../address/address-text.ts';
import { equalServices, type NetService } from '../address/net-address.ts';
import type { ConnectionTable } from './connection-table.ts';

/** Beyond this, no more are taken. */
const MAX_ADDED = 1000;
/** As in Core: with more, automatic connections do not look whether an address is among them. */
const MAX_SEARCHED = 24;

export interface AddedNode {
  /** As the operator wrote it. */
  readonly text: string;
  readonly v2: boolean;
}

export interface AddedNodeState extends AddedNode {
  readonly connected: { readonly service: NetService; readonly inbound: boolean } | null;
}

/** Nodes an operator wants a connection to, always. */
export class AddedNodes {
  readonly #defaultPort: number;
  #nodes: AddedNode[] = [];

  constructor(defaultPort: number) {
    this.#defaultPort = defaultPort;
  }

  get size(): number {
    return this.#nodes.length;
  }

  /** Whether it was taken: not twice, and not when there are too many. */
  add(node: AddedNode): boolean {
    const service = this.#serviceOf(node);
    const isSame = (other: AddedNode) => {
      const known = this.#serviceOf(other);
      return other.text === node.text || (service !== null && known !== null && equalServices(service, known));
    };
    if (this.#nodes.length >= MAX_ADDED || this.#nodes.some(isSame)) return false;
    this.#nodes.push(node);
    return true;
  }

  /** By exactly the text it was added with; whether it was there. */
  remove(text: string): boolean {
    const before = this.#nodes.length;
    this.#nodes = this.#nodes.filter((node) => node.text !== text);
    return this.#nodes.length < before;
  }

  /** Whether the operator has named this address. */
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
    return parseService(text, this.#defaultPort);
  }
}
