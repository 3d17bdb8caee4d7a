/** Placeholders of the English texts, by key. Made by `npm run docs`. */

export interface Placeholders {
  readonly 'failed.why': 'why';
  readonly 'popup.switchHost': 'host';
  readonly 'list.of': 'part' | 'whole';
  readonly 'list.left': 'time';
  readonly 'taking.types.bad': 'type';
  readonly 'taking.types.both': 'type';
  readonly 'taking.types.many': 'n';
  readonly 'hosts.bad': 'host';
  readonly 'hosts.both': 'host';
  readonly 'hosts.many': 'n';
  readonly 'remote.paired': 'host';
  readonly 'edges.url.many': 'n';
  readonly 'edges.remove': 'url';
  readonly 'picker.of': 'title';
  readonly 'picker.shown.one': 'n';
  readonly 'picker.shown.other': 'n';
  readonly 'picker.chosen.one': 'n';
  readonly 'picker.chosen.other': 'n';
  readonly 'picker.cut': 'n';
  readonly 'picker.add.one': 'n';
  readonly 'picker.add.other': 'n';
  readonly 'picker.added.one': 'n';
  readonly 'picker.added.other': 'n';
  readonly 'picker.notAdded.one': 'n';
  readonly 'picker.notAdded.other': 'n';
}
