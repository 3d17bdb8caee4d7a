/** A background whose answers a test gives by hand; for tests only. */

import type { Request } from '../contract/messages.ts';
import { type Background, BackgroundError } from '../view/common/background.ts';

/** A request of a page. */
interface Question {
  readonly request: Request;
  readonly answer: (value: unknown) => void;
  readonly fail: () => void;
}

export class AskedBackground implements Background {
  /** Unanswered requests, the oldest first. */
  readonly asked: Question[] = [];

  ask(request: Request): Promise<never> {
    return new Promise((resolve, reject) => {
      const fail = () => reject(new BackgroundError('no', true));
      this.asked.push({ request, answer: resolve as (value: unknown) => void, fail });
    });
  }

  watch(): () => void {
    return () => {};
  }

  /** Waits until the page has done all that it can do without an answer. */
  async settled(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  }

  /** Returns the oldest unanswered request. @throws Error if there is none */
  async next(): Promise<Question> {
    await this.settled();
    const question = this.asked.shift();
    if (question === undefined) throw new Error('nothing was asked');
    return question;
  }
}
