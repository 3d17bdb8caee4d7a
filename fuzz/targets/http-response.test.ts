import { testTargets } from '../test-targets.ts';
import { targets } from './http-response.ts';

testTargets(targets);
