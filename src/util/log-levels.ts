export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFields = Readonly<Record<string, unknown>>;

/** The parts of the node that log. */
export const LOG_CATEGORIES = [
  'node',
  'chain',
  'storage',
  'mempool',
  'p2p',
  'wallet',
  'http',
  'auth',
  'events',
  'webhooks',
] as const;
export type LogCategory = (typeof LOG_CATEGORIES)[number];

/** The least important level that is written, by category. */
export type CategoryLevels = Readonly<Record<LogCategory, LogLevel>>;

/** The level of a category as it was written: `p2p=debug`. */
export interface CategoryLevel {
  readonly category: LogCategory;
  readonly level: LogLevel;
}

/** Parses `p2p=debug`; null if either part is unknown. */
export function parseCategoryLevel(text: string): CategoryLevel | null {
  const [name, word, ...more] = text.split('=');
  const category = LOG_CATEGORIES.find((each) => each === name?.trim());
  const level = LOG_LEVELS.find((each) => each === word?.trim());
  return category === undefined || level === undefined || more.length > 0 ? null : { category, level };
}

/** Returns the level of every category: the last one that was given for it, else `level`. */
export function categoryLevels(level: LogLevel, given: readonly CategoryLevel[] = []): CategoryLevels {
  const levels = Object.fromEntries(LOG_CATEGORIES.map((category) => [category, level]));
  for (const each of given) levels[each.category] = each.level;
  return levels as Record<LogCategory, LogLevel>;
}
