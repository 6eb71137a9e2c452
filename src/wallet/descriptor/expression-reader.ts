/** Reads a descriptor or a miniscript: functions, and arguments between commas and brackets. */
export class ExpressionReader {
  /** The text that is left. */
  rest: string;

  constructor(text: string) {
    this.rest = text;
  }

  get done(): boolean {
    return this.rest === '';
  }

  /** Skips `text` if it is next. */
  skip(text: string): boolean {
    if (!this.rest.startsWith(text)) return false;
    this.rest = this.rest.slice(text.length);
    return true;
  }

  /** Goes into the brackets if all of the rest is a call of `name`. */
  enter(name: string): boolean {
    const { rest } = this;
    if (!rest.startsWith(name) || rest[name.length] !== '(' || rest.length < name.length + 2 || !rest.endsWith(')'))
      return false;
    this.rest = rest.slice(name.length + 1, -1);
    return true;
  }

  /** Up to a comma or a closing bracket that belongs to nothing in it; may be empty. */
  argument(): string {
    const { rest } = this;
    let level = 0;
    let at = 0;
    for (; at < rest.length; at++) {
      const char = rest[at]!;
      if (char === '(' || char === '{') level++;
      else if (level > 0 && (char === ')' || char === '}')) level--;
      else if (level === 0 && (char === ')' || char === '}' || char === ',')) break;
    }
    this.rest = rest.slice(at);
    return rest.slice(0, at);
  }
}

/** Thrown while a descriptor is read, and caught where that began. The message is Core's. */
export class DescriptorError extends Error {
  override readonly name = 'DescriptorError';
}

export function descriptorFail(message: string): never {
  throw new DescriptorError(message);
}

/** Puts `prefix` in front of the message of a DescriptorError. */
export function withPrefix<T>(prefix: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DescriptorError) throw new DescriptorError(prefix + error.message);
    throw error;
  }
}

/** Steps of all paths, or keys of all descriptors, that one text may multiply to. */
export const MAX_MULTIPATH_PRODUCT = 1_000_000;

/**
 * Transposes lists of one or of `count` elements each. Returns null where a list has another length. Throws
 * DescriptorError where there are too many elements.
 */
export function zipPaths<T>(lists: readonly (readonly T[])[], count: number): T[][] | null {
  if (!lists.every(({ length }) => length === 1 || length === count)) return null;
  if (lists.length * count > MAX_MULTIPATH_PRODUCT) descriptorFail('Multipath descriptor has too many keys');
  return Array.from({ length: count }, (_, i) => lists.map((list) => list[list.length === 1 ? 0 : i]!));
}
