import { testTargets } from '../test-targets.ts';
import { targets } from './download-records.ts';

testTargets(targets);
