import { testTargets } from '../test-targets.ts';
import { targets } from './raw-target.ts';

testTargets(targets);
