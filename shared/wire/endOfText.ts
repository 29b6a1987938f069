/** The place of the quote that closes the text in JSON which one at `start` opens; the length of the JSON where none does. */
export function endOfText(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (json[at - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return json.length;
}
