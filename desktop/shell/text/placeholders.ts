/** Placeholders of the English texts, by key. Made by `npm run docs`. */

export interface Placeholders {
  readonly 'running.one': 'n';
  readonly 'running.other': 'n';
  readonly 'waiting.one': 'n';
  readonly 'waiting.other': 'n';
  readonly left: 'time';
  readonly failed: 'name';
  readonly 'completed.many.one': 'n';
  readonly 'completed.many.other': 'n';
  readonly 'failed.many.one': 'n';
  readonly 'failed.many.other': 'n';
  readonly 'more.one': 'n';
  readonly 'more.other': 'n';
  readonly updateReady: 'version';
  readonly 'quit.ask.one': 'n';
  readonly 'quit.ask.other': 'n';
  readonly 'quit.waiting.one': 'n';
  readonly 'quit.waiting.other': 'n';
  readonly 'elsewhere.gone': 'host';
  readonly 'elsewhere.wrong': 'given';
  readonly 'elsewhere.ask': 'host';
  readonly opensProgram: 'name';
  readonly cannotOpen: 'reason';
  readonly cannotOpenPage: 'reason';
  readonly cannotRead: 'name';
}
