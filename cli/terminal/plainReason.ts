const bounds: Record<string, string> = { '<=': 'at most', '>=': 'at least', '<': 'below', '>': 'above' };

/**
 * Rewrites what a service says of a request for a person who typed a command and sent none: without the method, the path and where in the body it is. What
 * would have no subject then is of the last key.
 */
export function plainReason(message: string): string {
  const said = message.replace(/^.*? answered \d{3}: /s, '');
  return said.replaceAll(
    /(^|; )(?:body|query|path)\.([\w.]+): ((?:(?!; (?:body|query|path)\.).)*)/gs,
    (_all, before, path, reason) => {
      const key = (path as string).split('.').findLast((part) => !/^\d+$/.test(part)) as string;
      return before + sentence(key.replaceAll('_', ' '), reason as string);
    },
  );
}

function sentence(name: string, reason: string): string {
  const [, operator, bound] = /^Too (?:big|small): expected \w+ to (?:be|have) ([<>]=?)(.+)$/s.exec(reason) ?? [];
  if (operator !== undefined && bound !== undefined) return `${name} must be ${bounds[operator]} ${bound}`;
  if (/^(?:is|must|may|has|names|takes|cannot) /.test(reason)) return `${name} ${reason}`;
  return /^(?:Invalid|Unrecognized) /.test(reason) ? `${name}: ${reason}` : reason;
}
