import { testTargets } from '../test-targets.ts';
import { targets } from './answers.ts';

testTargets(targets);
