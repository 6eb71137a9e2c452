import { cleanUpAfterTests } from '../lib/node-process.ts';
import { NEWEST_FIXTURE, OLDEST_FIXTURE } from '../lib/upgrade-fixtures.ts';
import { describeUpgrades } from '../lib/upgrade-suite.ts';

cleanUpAfterTests();

// The slow tests have those of all other versions.
describeUpgrades([OLDEST_FIXTURE, NEWEST_FIXTURE]);
