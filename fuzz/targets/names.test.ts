import { testTargets } from '../test-targets.ts';
import { targets } from './names.ts';

testTargets(targets);
