"""x"""
from __future__ import annotations
from crag.measure.results import summed_up, compared
from benchmarks.popqa_cases import ceilings

def figures(found, sets, version):
    out={}
    for name, by in found.items():
        out[name]={}
        parts={p:{c.question.id for c in sets[name] if c.part==p} for p in ("dev","held-out")}
        for p,ids in parts.items():
            if not ids: continue
            out[name][p]={"ceil":ceilings([c for c in sets[name] if c.question.id in ids]),"n":len(ids)}
            for s,rows in by.items():
                rows=[r for r in rows if r.question_id in ids]
                res=summed_up(rows); m=res.means
                d=compared(rows,[r for r in by["balanced"] if r.question_id in ids])["evidence_answer"] if "balanced" in by else None
                acts={a:sum(v.values())/len(rows) for a,v in res.actions.items()}
                out[name][p][s]=[m["evidence_answer"].value,m["evidence_answer"].low,m["evidence_answer"].high,m["evidence_words"].value,m["searches"].value,acts,m["answer_holds"].value,m["abstained"].value,m["acted_holds"].value, (d.value,d.low,d.high) if d else None]
    return out

def report(o):
    t=[]
    for n,x in o.items():
        for p,y in x.items():
            t.append(f"## {n} {p} n={y['n']} ceil {y['ceil']}")
            for s,v in y.items():
                if s in("ceil","n"): continue
                t.append(f"{s:40s} ans {v[0]:.3f} [{v[1]:.3f},{v[2]:.3f}] words {v[3]:6.1f} search {v[4]:.2f} C{v[5]['CORRECT']:.2f} A{v[5]['AMBIGUOUS']:.2f} I{v[5]['INCORRECT']:.2f} said {v[6]:.3f} abst {v[7]:.2f} retr {v[8]:.3f} bal-minus {v[9] and tuple(round(q,3) for q in v[9])}")
    return "\n".join(t)
