import { testTargets } from '../test-targets.ts';
import { targets } from './prefixed-url.ts';

testTargets(targets);
