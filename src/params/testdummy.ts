import type { Bip9Deployment } from '../consensus/consensus-params.ts';

/** The test deployment where it is never active, with the threshold of the main network. */
export const NEVER_ACTIVE_TESTDUMMY: Bip9Deployment = {
  bit: 28,
  startTime: 'never-active',
  timeout: 'no-timeout',
  minActivationHeight: 0,
  period: 2016,
  threshold: 1815,
};
