import { testTargets } from '../test-targets.ts';
import { targets } from './dns-question.ts';

testTargets(targets);
