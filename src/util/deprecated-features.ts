/**
 * Outdated methods and members of Bitcoin Core that can be switched on, by Core's names for them:
 * `bip125-replaceable`, `fullrbf` of getmempoolinfo, and removeprunedfunds.
 */
export const DEPRECATED_FEATURES = ['bip125', 'fullrbf', 'removeprunedfunds'] as const;

export type DeprecatedFeature = (typeof DEPRECATED_FEATURES)[number];
