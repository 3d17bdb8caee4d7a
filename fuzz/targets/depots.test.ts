import { testTargets } from '../test-targets.ts';
import { targets } from './depots.ts';

testTargets(targets);
