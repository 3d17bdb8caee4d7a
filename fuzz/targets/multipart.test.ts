import { testTargets } from '../test-targets.ts';
import { targets } from './multipart.ts';

testTargets(targets);
