//! Style of the page. Its texts have a contrast of at least 7 to 1.

/// The style sheet, without `>`, so that the page stays well-formed.
pub(super) const STYLE: &str = "\
body{font-family:Helvetica,Arial,sans-serif;color:#18181b;background:#fff;max-width:62rem;margin:2rem auto;padding:0 1rem;line-height:1.45}\
h1{margin:0;font-size:1.8rem}\
h2{margin:2rem 0 .5rem;font-size:1.15rem;border-bottom:1px solid #a1a1aa;padding-bottom:.2rem}\
p{margin:.35rem 0}\
.what{color:#3f3f46}\
.label{display:inline-block;border:1px solid #52525b;border-radius:.3rem;padding:.1rem .5rem;font-weight:bold}\
.headline{font-size:1.15rem}\
.trouble{border-left:4px solid #9a3412;padding-left:.6rem;font-weight:bold}\
.picture,.wide{overflow-x:auto}\
.picture svg{max-width:100%;height:auto}\
@media screen and (max-width:45rem){.picture svg{max-width:none}.wide table{width:max-content;max-width:46rem}}\
table{border-collapse:collapse;margin:.4rem 0}\
th,td{text-align:left;vertical-align:top;padding:.2rem .9rem .2rem 0;border-bottom:1px solid #e4e4e7}\
th{font-weight:bold}\
.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
details{margin:.4rem 0}\
@media print{body{margin:0;max-width:none;font-size:10pt}h2{break-after:avoid}table,.picture{break-inside:avoid}}";
