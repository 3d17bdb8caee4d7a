/** The thread of sums. */

import { answerRequests } from '@millrace/shared/node/threads/thread-answers';
import { type SumAnswer, type SumRequest, SumsUnderWay } from './sum-requests.ts';

const sums = new SumsUnderWay();
answerRequests<SumRequest, SumAnswer>((request) => sums.answer(request));
