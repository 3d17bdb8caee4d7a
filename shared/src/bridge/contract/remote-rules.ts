/**
 * Rules for callers from other machines. They use the daemon's downloads, and nothing else of its
 * machine: they name no folder outside the download folders, read no file, and run no program.
 */

import type { MethodName } from './contract.ts';

/**
 * yes: as on the daemon's own machine; person: only for people who have logged in, not for paired
 * devices; places: if its folders are among the allowed ones, and without delicate members; never:
 * only on the daemon's own machine.
 */
export type RemoteRule = 'yes' | 'person' | 'places' | 'never';

/** The rule of each method. A method without a rule does not compile. */
const OWN: Readonly<Record<MethodName, RemoteRule>> = {
  'millrace.add': 'places',
  'millrace.addMany': 'places',
  'millrace.addMetalink': 'places',
  'millrace.addExnode': 'places',
  'millrace.readExnode': 'yes',
  'millrace.readMetalink': 'yes',
  'millrace.parseText': 'yes',
  'millrace.probe': 'places',
  'millrace.readPage': 'places',
  'millrace.checkDuplicates': 'yes',
  'millrace.info': 'yes',
  'millrace.status': 'yes',
  'millrace.list': 'yes',
  'millrace.search': 'yes',
  'millrace.expired': 'yes',
  'millrace.strip': 'yes',
  'millrace.sources': 'yes',
  'millrace.change': 'places',
  'millrace.changeMany': 'places',
  'millrace.pause': 'yes',
  'millrace.resume': 'yes',
  'millrace.retry': 'yes',
  'millrace.move': 'yes',
  'millrace.place': 'yes',
  'millrace.addUrl': 'yes',
  'millrace.replaceUrl': 'yes',
  // It replaces a file.
  'millrace.repair': 'never',
  // Its address is one of the daemon's own machine.
  'millrace.stream': 'never',
  'millrace.remove': 'yes',
  'millrace.removalSummary': 'yes',
  'millrace.undoRemove': 'yes',
  'millrace.purge': 'yes',
  'millrace.trash': 'yes',
  'millrace.restoreTrash': 'yes',
  'millrace.emptyTrash': 'yes',
  'millrace.export': 'places',
  'millrace.previewImport': 'places',
  'millrace.import': 'places',
  'millrace.getSettings': 'yes',
  // Programs of the daemon's machine.
  'millrace.getResolvers': 'never',
  'millrace.setResolvers': 'never',
  'millrace.testResolver': 'never',
  'millrace.getKeys': 'yes',
  // They decide whose word counts on the daemon's machine.
  'millrace.addKey': 'never',
  'millrace.removeKey': 'never',
  'millrace.getSystemProxy': 'yes',
  'millrace.setSettings': 'person',
  'millrace.getLimits': 'yes',
  'millrace.setLimits': 'yes',
  'millrace.getSchedule': 'yes',
  'millrace.setSchedule': 'yes',
  'millrace.getCategories': 'yes',
  'millrace.setCategories': 'person',
  // Commands run on the daemon's machine, and addresses of webhooks may be secrets.
  'millrace.getAfter': 'never',
  'millrace.setAfter': 'never',
  'millrace.whenDone': 'never',
  'millrace.addEdge': 'person',
  'millrace.changeEdge': 'person',
  'millrace.removeEdge': 'person',
  'millrace.testEdge': 'person',
  'millrace.houseEdges': 'person',
  'millrace.setDepot': 'person',
  'millrace.removeDepot': 'person',
  'millrace.checkDepot': 'person',
  'millrace.invite': 'person',
  'millrace.offerFile': 'never',
  'millrace.stageFile': 'yes',
  'millrace.dropFile': 'yes',
  'millrace.share': 'places',
  'millrace.shares': 'yes',
  'millrace.pauseShare': 'yes',
  'millrace.resumeShare': 'yes',
  'millrace.checkShare': 'yes',
  'millrace.repairShare': 'yes',
  'millrace.stopRepair': 'yes',
  'millrace.extendShare': 'yes',
  'millrace.revokeShare': 'yes',
  'millrace.undoRevoke': 'yes',
  'millrace.forgetShare': 'yes',
  'millrace.offer': 'places',
  'millrace.commitOffer': 'yes',
  'millrace.withdrawOffer': 'yes',
  'millrace.offerState': 'yes',
  'millrace.watch': 'yes',
  'millrace.unwatch': 'yes',
  'millrace.detail': 'yes',
  'millrace.subscribe': 'yes',
  'millrace.unsubscribe': 'yes',
  'millrace.loginLink': 'never',
  'millrace.loginPage': 'never',
  'millrace.shutdown': 'never',
  'millrace.devices': 'person',
  'millrace.pairingCode': 'person',
  'millrace.revokeDevice': 'person',
};

/** Rules of aria2's methods; those that are not listed are refused. */
const ARIA2: Readonly<Record<string, RemoteRule>> = {
  'aria2.addUri': 'places',
  'aria2.addMetalink': 'places',
  'aria2.addTorrent': 'places',
  'aria2.changeOption': 'places',
  ...Object.fromEntries(
    [
      'changePosition',
      'changeUri',
      'forcePause',
      'forcePauseAll',
      'forceRemove',
      'getFiles',
      'getGlobalOption',
      'getGlobalStat',
      'getOption',
      'getPeers',
      'getServers',
      'getSessionInfo',
      'getUris',
      'getVersion',
      'pause',
      'pauseAll',
      'purgeDownloadResult',
      'remove',
      'removeDownloadResult',
      'saveSession',
      'tellActive',
      'tellStatus',
      'tellStopped',
      'tellWaiting',
      'unpause',
      'unpauseAll',
    ].map((name) => [`aria2.${name}`, 'yes' as const]),
  ),
};

/** Returns the rule of a method by its name; names that are unknown have the strictest one. */
export function remoteRule(name: string): RemoteRule {
  if (Object.hasOwn(OWN, name)) return OWN[name as MethodName];
  if (Object.hasOwn(ARIA2, name)) return ARIA2[name] as RemoteRule;
  // Calls inside a multicall are judged one by one.
  return name.startsWith('system.') || name === 'rpc.discover' ? 'yes' : 'never';
}
