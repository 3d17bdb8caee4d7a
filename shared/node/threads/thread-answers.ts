/** The other end of an `AskedThread`: what a thread does with the requests to it. */

import { parentPort } from 'node:worker_threads';

/** A request with a number, because several requests may be open at once. */
export interface NumberedRequest<Request> {
  readonly id: number;
  readonly request: Request;
}

export interface ThreadReply<Answer> {
  readonly id: number;
  readonly answer?: Answer;
  /** Message of the error that has kept the thread from answering. */
  readonly error?: string;
}

/** Answers the requests to this thread, in their order. @param answer may throw */
export function answerRequests<Request, Answer>(answer: (request: Request) => Answer): void {
  parentPort?.on('message', ({ id, request }: NumberedRequest<Request>) => {
    let reply: ThreadReply<Answer>;
    try {
      reply = { id, answer: answer(request) };
    } catch (error) {
      reply = { id, error: (error as Error).message };
    }
    parentPort?.postMessage(reply);
  });
}
