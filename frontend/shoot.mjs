// node shoot.mjs page.html out-prefix [hash ...] : screenshots, with console errors and requests told.
import { chromium } from 'playwright-core';
const [file, out, ...hashes] = process.argv.slice(2);
const dark = process.env.DARK === '1', phone = process.env.PHONE === '1';
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'] });
const page = await browser.newPage({ viewport: phone ? { width: 400, height: 860 } : { width: 1400, height: 900 }, colorScheme: dark ? 'dark' : 'light' });
page.on('console', (message) => console.log('console', message.type(), message.text()));
page.on('pageerror', (error) => console.log('error', error.message));
page.on('request', (request) => { if (!request.url().startsWith('file:') && !request.url().startsWith('blob:') && !request.url().startsWith('data:')) console.log('request', request.url()); });
const begun = Date.now();
await page.goto(`file://${file}`);
await page.waitForSelector('html[data-drawn]', { timeout: 60000 }).catch(() => console.log('not drawn'));
console.log('drawn after', Date.now() - begun, 'ms');
let number = 0;
for (const hash of hashes.length ? hashes : ['#/']) {
  await page.evaluate((to) => { location.hash = to; }, hash.split('|')[0]);
  await page.waitForTimeout(700);
  for (const click of hash.split('|').slice(1)) { await page.getByText(click, { exact: true }).first().click().catch((e) => console.log('click', click, e.message.split('\n')[0])); await page.waitForTimeout(500); }
  await page.screenshot({ path: `${out}-${number++}.png`, fullPage: process.env.FULL === '1' });
}
await browser.close();
